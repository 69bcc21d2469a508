/* spell.h: how far a word is from one that was meant. */
#ifndef MAYFLY_SPELL_H
#define MAYFLY_SPELL_H

#include "base/base.h"

#define SPELL_MOST 40 /* letters of a word */
#define SPELL_FAR  99 /* the distance of longer ones */

/* Edits between two words: insert, delete, replace, swap neighbours.  The case of ASCII letters,
 * and '-' instead of '_', make no difference.  O(letters of a x letters of b). */
unsigned spell_distance(struct mf_slice a, struct mf_slice b);

#endif
