// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The functions that -fsanitize=undefined calls, in place of the sanitizer's library. Each gets the place first. */

struct place {
	const char *file;
	unsigned line, column;
};

/* Set by the program that loads this; it does not return. */
void (*braid_undefined)(const char *what, const char *file, unsigned line);

#define HANDLER(name, what)                                                                             \
	__attribute__((no_sanitize("undefined"))) void __ubsan_handle_##name(const struct place *place) \
	{                                                                                               \
		braid_undefined(what, place->file, place->line);                                        \
		__builtin_trap();                                                                       \
	}

HANDLER(shift_out_of_bounds, "shifts by a negative number or by the width of the type or more")
HANDLER(divrem_overflow, "divides by zero, or the smallest number by -1")
HANDLER(out_of_bounds, "uses an array beyond its end")
HANDLER(type_mismatch_v1, "uses a pointer that is null, misaligned or beyond its object")
HANDLER(pointer_overflow, "computes a pointer that wraps")
HANDLER(load_invalid_value, "reads a value that its type does not have")
HANDLER(builtin_unreachable, "reaches code that it declares unreachable")
HANDLER(missing_return, "returns no value")
HANDLER(vla_bound_not_positive, "has an array with no elements")
HANDLER(nonnull_arg, "passes a null pointer")
HANDLER(invalid_builtin, "takes bits of zero, which has none")
HANDLER(alignment_assumption, "uses a misaligned pointer")
