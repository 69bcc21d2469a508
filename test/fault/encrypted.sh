#!/bin/sh
# encrypted.sh: the fault tests of the store again, much smaller, with encrypted stores: of each cipher, while a plain store
# is encrypted, and while key and cipher change with each opening.  `make check` runs it in the build folder; the trials of
# ./dev torture run the same programs at full size, with ciphers by their seeds.
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
    run $mode test/fault/model --seed=2 --steps=10000
    run $mode test/fault/crash --seed=2 --ops=600 --images=600
done
run aes test/fault/shared --seed=2 --images=400
run chacha test/fault/flip --cut-step=1499 --partners=0 --bits=1
run aes test/fault/repair --rounds=80
run chacha test/fault/twin
run chacha test/fault/kill
rm -f test/fault/encrypted.out
exit $bad
