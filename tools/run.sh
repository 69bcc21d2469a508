# run.sh: `./dev run`: starts mayflyd and says how to try it.  Sourced by ./dev.
# shellcheck shell=bash

# flag_value DEFAULT NAMES FLAG...: the last value of a flag, as `-p 1`, `-p=1` or with two dashes.
flag_value() {
    local value=$1 names=" $2 " name
    shift 2
    while [ $# -gt 0 ]; do
        name=${1%%=*}
        name=${name#-}
        name=${name#-}
        if [[ $1 == -* && $names == *" $name "* ]]; then
            if [[ $1 == *=* ]]; then value=${1#*=}; else value=${2:-$value}; fi
        fi
        shift
    done
    printf '%s' "$value"
}

port_busy() { [ "$1" -gt 0 ] 2>/dev/null && (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
# free_port FROM: the first one that nobody listens on.
free_port() {
    local port=$1
    while port_busy "$port"; do port=$((port + 1)); done
    printf '%s' "$port"
}

# Says what to type when a port is taken: before minutes of building, not after them.
check_ports() {
    local clients pages port
    clients=$(flag_value 4222 'p port' "$@")
    pages=$(flag_value 8222 'm http_port' "$@")
    for port in "$clients" "$pages"; do
        port_busy "$port" || continue
        die "port $port is in use, perhaps by another server.  Type:
    ./dev run -p $(free_port $((clients + 1))) -m $(free_port $((pages + 1)))"
    done
}

# The server writes its ports to a file; they are the real ones, whatever was asked for.
say_how() {
    local ports=$1 server=$2 data=$3 path nats http env='' url=''
    path=$(cd "$4" && pwd)
    while [ ! -s "$ports" ]; do
        kill -0 "$server" 2>/dev/null || return
        sleep 0.1
    done
    nats=$(sed -n 's/.*"nats":\["\([^"]*\)".*/\1/p' "$ports")
    http=$(sed -n 's/.*"monitoring":\["\([^"]*\)".*/\1/p' "$ports")
    [[ $nats == *:4222 ]] || env="
    export NATS_URL=$nats"
    [[ $http == *:8222 ]] || url=" $http"
    cat >&2 <<EOF

mayflyd: clients at $nats, status page at ${http:-(off)}, data in $data
Ctrl-C stops it.  In another terminal, type for example:

    export PATH="$path:\$PATH"$env
    mayfly server check$url
    mayfly demo                                            # keys that die in front of your eyes
    mayfly kv create drafts
    mayfly kv put drafts alice hello --ttl 10s
    mayfly kv watch drafts

or open ${http:-the status page (start with -m 8222)} in a browser.

EOF
}

# The folder of a server: one server at a time uses it, so that on another port has its own.
data_of() {
    case "$1" in
    4222 | -*) printf '%s' "$STATE/data" ;;
    *) printf '%s' "$STATE/data-$1" ;;
    esac
}

run_server() {
    local built="${MAYFLY_BUILT:-build}" server=$$ ports="$STATE/run" data
    data=${MAYFLY_DATA:-$(data_of "$(flag_value 4222 'p port' "$@")")}
    check_ports "$@"
    [ -n "${MAYFLY_BUILT:-}" ] || cmd_build
    mkdir -p "$data" "$ports"
    rm -f "$ports/mayflyd_$server.ports"
    # Twice in the background, so that the server has no child to wait for.
    (say_how "$ports/mayflyd_$server.ports" "$server" "$data" "$built" &)
    # A name for the page and the table of `server check`, unless the caller or a file gives one.
    [ -n "$(flag_value '' 'n name server_name c config' "$@")" ] || set -- -n mayfly "$@"
    exec "$built/mayflyd" -a 127.0.0.1 -p 4222 -m 8222 -js -sd "$data" --ports_file_dir "$ports" "$@"
}
