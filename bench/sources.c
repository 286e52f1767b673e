/* bench/sources.c - read a deployment and the programs of a folder. */
#include "bench/sources.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"

_Noreturn void bench_die (const char *text)
{
    fprintf (stderr, "bench: %s\n", text);
    exit (EXIT_FAILURE);
}

static void read_file (const char *path, struct dt_buf *ret)
{
    struct dt_err err = { "" };

    memset (ret, 0, sizeof *ret);
    if (dt_file_read (path, DT_SOURCE_MAX_BYTES, ret, &err) < 0)
        bench_die (err.text);
}

static int is_source (const char *name)
{
    size_t n = strlen (name);

    return (n > 3 && !strcmp (name + n - 3, ".py")) || (n > 5 && !strcmp (name + n - 5, ".json"));
}

static void read_source (struct bench_sources *b, const char *folder, const char *name)
{
    char *path = dt_strf ("%s/%s", folder, name);
    struct dt_buf text;

    if (!path)
        bench_die ("out of memory");
    read_file (path, &text);
    dt_free (path);
    b->source[b->n_sources++]
        = (struct dt_source){ dt_strdup (name), (const char *)text.data, text.len };
}

void bench_sources_read (struct bench_sources *b, const char *deployment, const char *folder)
{
    DIR *dir = opendir (folder);
    const struct dirent *e;
    struct dt_err err = { "" };
    struct dt_buf text;

    memset (b, 0, sizeof *b);
    if (!dir)
        bench_die (folder);
    while ((e = readdir (dir)))
        if (is_source (e->d_name) && b->n_sources < DT_SOURCE_MAX_FILES)
            read_source (b, folder, e->d_name);
    closedir (dir);
    read_file (deployment, &text);
    if (dt_deployment_parse (deployment, text.data, text.len, &b->d, &err) < 0)
        bench_die (err.text);
    dt_buf_done (&text);
}

void bench_sources_lead (struct bench_sources *b, const char *program)
{
    for (size_t i = 0; i < b->n_sources; i++)
        if (!strcmp (b->source[i].name, program)) {
            struct dt_source s = b->source[i];

            b->source[i] = b->source[0];
            b->source[0] = s;
            return;
        }
    bench_die (program);
}

void bench_sources_done (struct bench_sources *b)
{
    for (size_t i = 0; i < b->n_sources; i++) {
        dt_free ((char *)(uintptr_t)b->source[i].name);
        dt_free ((char *)(uintptr_t)b->source[i].text);
    }
    dt_deployment_free (b->d);
}
