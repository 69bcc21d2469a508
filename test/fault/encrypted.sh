#!/bin/sh
# encrypted.sh: the fault tests of the store again, smaller, with encrypted stores: of each cipher, while a plain store is
# encrypted, and while key and cipher change with each opening.  `make check` runs it in the build folder.
set -u
bad=0
run() {
    mode=$1
    shift
    if ! MAYFLY_TEST_CIPHER=$mode "$@" >test/fault/encrypted.out 2>&1; then
        tail -n 20 test/fault/encrypted.out
        echo "FAIL MAYFLY_TEST_CIPHER=$mode $*"
        bad=1
    fi
}
for mode in chacha aes convert rotate; do
    run $mode test/fault/model --seed=2 --steps=40000
    run $mode test/fault/crash --seed=2 --ops=600 --images=2500
done
run aes test/fault/shared --seed=2 --images=1500
run chacha test/fault/flip --cut-step=499 --partners=0 --bits=1
run aes test/fault/repair --rounds=300
run chacha test/fault/twin
run chacha test/fault/kill
rm -f test/fault/encrypted.out
exit $bad
