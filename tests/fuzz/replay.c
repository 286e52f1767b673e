/* tests/fuzz/replay.c - run a fuzz target over a corpus without libFuzzer: each
 * file under each folder or file given, then each file cut short and with single
 * bytes changed. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t n);

#define MAX_FILE (1u << 20)
#define MUTANTS 256 /* of each file: spread over its length */

/* A copy of the exact size, so that a sanitizer sees one byte too far. */
static void feed (const uint8_t *data, size_t n, size_t flip, uint8_t with)
{
    uint8_t *copy = malloc (n ? n : 1);

    if (!copy)
        abort ();
    if (n)
        memcpy (copy, data, n);
    if (flip < n)
        copy[flip] ^= with;
    LLVMFuzzerTestOneInput (copy, n);
    free (copy);
}

static int replay_file (const char *path)
{
    static uint8_t data[MAX_FILE];
    FILE *f = fopen (path, "rb");
    size_t n, step;

    if (!f)
        return perror (path), 0;
    n = fread (data, 1, sizeof data, f);
    fclose (f);
    feed (data, n, n, 0);
    step = n / MUTANTS + 1;
    for (size_t i = 0; i < n; i += step) {
        feed (data, i, n, 0);
        feed (data, n, i, (uint8_t)(1u << i / step % 8));
        feed (data, n, i, 0xff);
    }
    return 1;
}

static int replay (const char *path)
{
    DIR *dir = opendir (path);
    struct dirent *e;
    char file[4096];
    int n = 0;

    if (!dir)
        return replay_file (path);
    while ((e = readdir (dir))) {
        if (*e->d_name == '.' || snprintf (file, sizeof file, "%s/%s", path, e->d_name) >= (int)sizeof file)
            continue;
        n += replay_file (file);
    }
    closedir (dir);
    return n;
}

int main (int argc, char **argv)
{
    int n = 0;

    for (int i = 1; i < argc; i++)
        n += replay (argv[i]);
    printf ("%d files\n", n);
    return n ? EXIT_SUCCESS : EXIT_FAILURE; /* an empty corpus tests nothing */
}
