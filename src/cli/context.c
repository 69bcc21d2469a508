/* context.c: see context.h. */
#include "cli/context.h"

#include "cli/plain_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static int find_folder(char *dst, size_t size)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int n = config != NULL && config[0] == '/' ? snprintf(dst, size, "%s/nats", config)
            : home != NULL                     ? snprintf(dst, size, "%s/.config/nats", home)
                                               : -1;

    return n < 0 || (size_t)n >= size ? MF_NOTFOUND : 0;
}

/* The name in context.txt; "" if there is none. */
static void read_selected(const char *folder, char *name, size_t size)
{
    char path[PATH_MAX + 20];
    FILE *f;

    name[0] = '\0';
    (void)snprintf(path, sizeof path, "%s/context.txt", folder);
    f = plain_file_open(path, NULL);
    if (f == NULL)
        return;
    if (fgets(name, (int)size, f) == NULL)
        name[0] = '\0';
    name[strcspn(name, " \t\r\n")] = '\0';
    (void)fclose(f);
}

/* "~/x" in a path is below the home folder, as the nats CLI reads it. */
static void expand_paths(json_t *context)
{
    static const char *const paths[] = {"creds", "nkey", "cert", "key", "ca"};
    const char *home = getenv("HOME");

    for (size_t i = 0; home != NULL && i < MF_COUNT(paths); i++) {
        const char *text = json_string_value(json_object_get(context, paths[i]));

        if (text != NULL && strncmp(text, "~/", 2) == 0)
            (void)json_object_set_new(context, paths[i], json_sprintf("%s%s", home, text + 1));
    }
}

/* Settings that would be unsafe or useless to ignore. */
static const char *find_unsupported(const json_t *context)
{
    static const char *const texts[] = {"nsc", "socks_proxy", "user_jwt", "user_seed"};

    for (size_t i = 0; i < MF_COUNT(texts); i++) {
        const char *text = json_string_value(json_object_get(context, texts[i]));

        if (text != NULL && text[0] != '\0')
            return texts[i];
    }
    return json_is_true(json_object_get(context, "tls_first")) ? "tls_first" : NULL;
}

/* A setting that is no text would be taken for absent, and the default server be asked. */
static const char *find_wrong_type(const json_t *context)
{
    static const char *const texts[] = {"url",          "user",
                                        "password",     "token",
                                        "creds",        "nkey",
                                        "cert",         "key",
                                        "ca",           "jetstream_domain",
                                        "inbox_prefix", "jetstream_api_prefix",
                                        "nsc",          "socks_proxy",
                                        "user_jwt",     "user_seed"};
    const json_t *first = json_object_get(context, "tls_first");

    for (size_t i = 0; i < MF_COUNT(texts); i++) {
        const json_t *value = json_object_get(context, texts[i]);

        if (value != NULL && !json_is_string(value) && !json_is_null(value))
            return texts[i];
    }
    return first == NULL || json_is_boolean(first) || json_is_null(first) ? NULL : "tls_first";
}

static int check_context(json_t *context, const char *name, const char *path, struct mf_error *e)
{
    const char *odd;

    if (!json_is_object(context))
        return mf_fail(e, MF_INVAL, "context %s: %s holds no JSON object", name, path);
    odd = find_wrong_type(context);
    if (odd != NULL)
        return mf_fail(e, MF_INVAL, "context %s: %s: \"%s\" is no %s", name, path, odd,
                       strcmp(odd, "tls_first") == 0 ? "boolean" : "text");
    odd = find_unsupported(context);
    if (odd != NULL)
        return mf_fail(e, MF_UNSUPPORTED,
                       "context %s asks for %s, which this tool cannot do; use flags and "
                       "--no-context",
                       name, odd);
    expand_paths(context);
    return 0;
}

int context_load(const char *name, json_t **out, struct mf_error *e)
{
    char folder[PATH_MAX], selected[256], path[PATH_MAX + 300];
    struct mf_error absent;
    json_error_t why;
    FILE *f;

    *out = NULL;
    if (find_folder(folder, sizeof folder) != 0)
        return name == NULL ? 0 : mf_fail(e, MF_NOTFOUND, "context %s: HOME is not set", name);
    if (name == NULL) {
        read_selected(folder, selected, sizeof selected);
        name = selected;
    }
    if (name[0] == '\0')
        return 0;
    if (strchr(name, '/') != NULL)
        return mf_fail(e, MF_INVAL, "context %s: the name holds a slash", name);
    (void)snprintf(path, sizeof path, "%s/context/%s.json", folder, name);
    f = plain_file_open(path, &absent);
    if (f == NULL)
        return mf_fail(e, absent.code, "context %s: %s (nats context ls lists them)", name,
                       absent.text);
    *out = json_loadf(f, JSON_REJECT_DUPLICATES, &why);
    (void)fclose(f);
    if (*out == NULL)
        return mf_fail(e, MF_NOTFOUND, "context %s: %s (nats context ls lists them)", name,
                       why.text);
    if (check_context(*out, name, path, e) == 0)
        return 0;
    json_decref(*out);
    *out = NULL;
    return e == NULL ? MF_INVAL : e->code;
}
