/* msgtrace_impl.h: what the files of this folder share. */
#ifndef MSGTRACE_MSGTRACE_IMPL_H
#define MSGTRACE_MSGTRACE_IMPL_H

#include "msgtrace/msgtrace.h"

/* Without blanks and tabs around it. */
static inline struct mf_slice msgtrace_trim(struct mf_slice v)
{
    while (v.len > 0 && (v.ptr[0] == ' ' || v.ptr[0] == '\t'))
        v = mf_slice(v.ptr + 1, v.len - 1);
    while (v.len > 0 && (v.ptr[v.len - 1] == ' ' || v.ptr[v.len - 1] == '\t'))
        v.len--;
    return v;
}

#endif
