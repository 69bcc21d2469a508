# checks.sh: the checks of install_test.sh, dev_test.sh and package_test.sh, which source this file.
# shellcheck shell=bash
passed=0
failed=0
check_log=$(mktemp) # end_checks removes it

# ok TEXT COMMAND...: one check; what the command says is shown if it fails.
ok() {
    local text=$1
    shift
    if "$@" >"$check_log" 2>&1; then
        passed=$((passed + 1))
        echo "ok $text"
    else
        failed=$((failed + 1))
        echo "not ok $text: $*"
        sed 's/^/    /' "$check_log"
    fi
}
not() { ! "$@"; }
same() { [ "$1" = "$2" ] || { echo "'$1' is not '$2'"; return 1; }; }
# wait_for COMMAND...: until it succeeds, for a minute: a machine may stall.
wait_for() {
    local end=$((SECONDS + 60))
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.05
    done
    return 0
}
end_checks() { rm -f "$check_log"; }
# The last command of a script.
tell_checks() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}
