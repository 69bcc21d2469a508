# Torture: trials of `./dev torture` and of the step `torture` of `./dev test` (README.md here).
.PHONY: torture-programs
torture-programs: $(FAULT_TESTS)

EXTRA_DIST += \
	%D%/README.md %D%/run.mjs %D%/lib/program.mjs %D%/lib/trial.mjs \
	%D%/trials/store-crash.mjs %D%/trials/store-flip.mjs %D%/trials/store-kill.mjs \
	%D%/trials/store-model.mjs %D%/trials/store-nth.mjs
