/* What happens when Python gave too little room: a bug in its formula, never bad data. */
#include "kh.h"
#include <stdio.h>
#include <stdlib.h>

_Noreturn void kh_no_room(i64 size, i64 wanted)
{
    fprintf(stderr, "keyhole: %lld bytes of room, %lld wanted: this is a bug\n", (long long)size, (long long)wanted);
    abort();
}
