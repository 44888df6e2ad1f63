/* Memory that runs out on purpose: after `fail_from` the given allocations of at least `least` bytes fail.
   Loaded with LD_PRELOAD; the tests call `fail_from` and `allocations` through ctypes. */
#include <errno.h>
#include <stddef.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static long seen, first, last;
static size_t least = (size_t)-1;

/* The allocations from `from` to `to` of at least `bytes` bytes fail, counted from 1; none if `from` is 0. */
void fail_from(long from, long to, size_t bytes)
{
    seen = 0;
    first = from;
    last = to;
    least = bytes;
}

long allocations(void)
{
    return seen;
}

static int fails(size_t bytes)
{
    if (bytes < least)
        return 0;
    long number = __sync_add_and_fetch(&seen, 1);
    if (first == 0 || number < first || number > last)
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t bytes)
{
    return fails(bytes) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t each)
{
    return fails(each && count > (size_t)-1 / each ? (size_t)-1 : count * each) ? NULL : __libc_calloc(count, each);
}

void *realloc(void *old, size_t bytes)
{
    return fails(bytes) ? NULL : __libc_realloc(old, bytes);
}

void *aligned_alloc(size_t to, size_t bytes)
{
    return fails(bytes) ? NULL : __libc_memalign(to, bytes);
}

void *memalign(size_t to, size_t bytes)
{
    return aligned_alloc(to, bytes);
}

int posix_memalign(void **found, size_t to, size_t bytes)
{
    void *memory = aligned_alloc(to, bytes);
    if (memory == NULL)
        return ENOMEM;
    *found = memory;
    return 0;
}
