#include "kernels/cuda/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/cuda.h"

#define ARRAY_SIZE(a) (sizeof (a) / sizeof *(a))

/* Words, or a number from lo to hi. */
static const struct setting {
    const char *name, *word[2];
    uint64_t lo, hi;
} settings[] = {
    { CUDA_SETTING_CLOCK, { "cupti", "events" }, 0, 0 },
    { CUDA_SETTING_SHARED, { "0", "1" }, 0, 0 },
    { CUDA_SETTING_LEAST, { NULL, NULL }, 0, 100000 },
    { CUDA_SETTING_PEER, { NULL, NULL }, 1, 3600000 },
};

/* Its text, or NULL if it is not set. */
static const char *text_of (const char *name)
{
    const char *text = getenv (name);

    return text && *text ? text : NULL;
}

/* 9 digits at most, which no number here has. */
static int read_number (const char *text, uint64_t *ret)
{
    size_t n = strspn (text, "0123456789");

    if (n == 0 || n > 9 || text[n])
        return -EINVAL;
    *ret = strtoul (text, NULL, 10);
    return 0;
}

static int check (const struct setting *s, struct dt_backend_error *err)
{
    const char *text = text_of (s->name);
    uint64_t v;

    if (!text || (s->word[0] && (!strcmp (text, s->word[0]) || !strcmp (text, s->word[1]))))
        return 0;
    if (s->word[0])
        return cuda_fail (err, -EINVAL, "cuda: %s is '%.64s'; it can be %s or %s", s->name, text,
                          s->word[0], s->word[1]);
    if (read_number (text, &v) == 0 && v >= s->lo && v <= s->hi)
        return 0;
    return cuda_fail (err, -EINVAL, "cuda: %s is '%.64s'; it can be a whole number from %llu to %llu",
                      s->name, text, (unsigned long long)s->lo, (unsigned long long)s->hi);
}

int cuda_settings_check (struct dt_backend_error *err)
{
    size_t i;
    int r;

    for (i = 0; i < ARRAY_SIZE (settings); i++)
        if ((r = check (&settings[i], err)) < 0)
            return r;
    return 0;
}

int cuda_setting_is (const char *name, const char *word)
{
    const char *text = text_of (name);

    return text && strcmp (text, word) == 0;
}

uint64_t cuda_setting_number (const char *name, uint64_t otherwise)
{
    const char *text = text_of (name);
    uint64_t v;

    return text && read_number (text, &v) == 0 ? v : otherwise;
}
