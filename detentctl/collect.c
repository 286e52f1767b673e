/* detentctl/collect.c - a deployment with the programs that it needs. */
#include "detentctl/collect.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

#define DEPLOYMENT_MAX_BYTES (1u << 20)

void dt_collected_done (struct dt_collected *k)
{
    for (size_t i = 0; i < k->n_files; i++) {
        dt_free (k->file[i].name);
        dt_free (k->file[i].folder);
        dt_buf_done (&k->file[i].data);
    }
    dt_free (k->file);
    dt_free (k->name);
    dt_buf_done (&k->data);
    dt_deployment_free (k->deployment);
    memset (k, 0, sizeof *k);
}

/* "a/b.yaml" -> "a"; "b.yaml" -> ".". */
static char *folder_of (const char *path)
{
    const char *slash = strrchr (path, '/');

    if (!slash)
        return dt_strdup (".");
    return dt_strndup (path, slash == path ? 1 : (size_t)(slash - path));
}

static int exists (const char *folder, const char *name)
{
    char *path = dt_strf ("%s/%s", folder, name);
    int yes = path && access (path, F_OK) == 0;

    dt_free (path);
    return yes;
}

static const char *installed (const struct dt_ctl *c)
{
    const char *s = dt_ctl_value (c, "programs");

    if (!s && (!(s = getenv ("DETENT_PROGRAMS")) || !*s))
        s = DT_PROGRAMS_DIR;
    return s;
}

/* --- one file and what it imports -------------------------------------------- */

static struct dt_collected_file *find (struct dt_collected *k, const char *name)
{
    for (size_t i = 0; i < k->n_files; i++)
        if (!strcmp (k->file[i].name, name))
            return &k->file[i];
    return NULL;
}

/* Read folder/name into the list, unless it is there from the same folder. */
static int add (struct dt_collected *k, const char *folder, const char *name,
                struct dt_err *reterr)
{
    struct dt_collected_file *f = find (k, name);
    char *path;
    int r;

    if (f && !strcmp (f->folder, folder))
        return 0;
    if (f)
        return dt_err_set (reterr, -DT_EINPUT, "two files are called %s: in %s and in %s; rename one",
                           name, f->folder, folder);
    if (k->n_files == DT_SOURCE_MAX_FILES)
        return dt_err_set (reterr, -DT_ELIMIT, "more than %d program files", DT_SOURCE_MAX_FILES);
    if (dt_grow ((void **)&k->file, &k->room_files, k->n_files, sizeof *k->file) < 0)
        return dt_err_nomem (reterr);
    f = &k->file[k->n_files++];
    memset (f, 0, sizeof *f);
    if (!(f->name = dt_strdup (name)) || !(f->folder = dt_strdup (folder))
        || !(path = dt_strf ("%s/%s", folder, name)))
        return dt_err_nomem (reterr);
    r = dt_file_read (path, DT_SOURCE_MAX_BYTES, &f->data, reterr);
    dt_free (path);
    return r;
}

static size_t word_length (const char *s, const char *end)
{
    size_t n = 0;

    while (s + n < end && (isalnum ((unsigned char)s[n]) || s[n] == '_'))
        n++;
    return n;
}

/* Add module NAME of the folder if it has one: what is not there is for the
 * program's own check to say, with its line. */
static int add_module (struct dt_collected *k, const char *folder, const char *module, size_t n,
                       struct dt_err *reterr)
{
    char *name;
    int r;

    if (n == 0 || n > 200 || (n == 5 && !memcmp (module, "selir", 5)))
        return 0;
    if (!(name = dt_strf ("%.*s.py", (int)n, module)))
        return dt_err_nomem (reterr);
    r = exists (folder, name) ? add (k, folder, name, reterr) : 0;
    dt_free (name);
    return r;
}

/* A line "from NAME import ..." or "import NAME, NAME". */
static int add_imports_of_line (struct dt_collected *k, const char *folder, const char *s,
                                const char *end, struct dt_err *reterr)
{
    size_t n = word_length (s, end);
    int from = n == 4 && !memcmp (s, "from", 4);
    int r;

    if (!from && !(n == 6 && !memcmp (s, "import", 6)))
        return 0;
    do {
        for (s += n; s < end && (*s == ' ' || *s == '\t' || *s == ','); s++)
            ;
        n = word_length (s, end);
        if ((r = add_module (k, folder, s, n, reterr)) < 0)
            return r;
    } while (!from && n > 0);
    return 0;
}

/* Imports of file i; files that it adds come later in the list. */
static int add_imports (struct dt_collected *k, size_t i, struct dt_err *reterr)
{
    struct dt_buf *data = &k->file[i].data; /* add() may move the list: take copies */
    const char *s = (const char *)data->data, *end = s + data->len;
    char *folder = dt_strdup (k->file[i].folder);
    int r = folder ? 0 : dt_err_nomem (reterr);

    while (r == 0 && s < end) {
        const char *eol = memchr (s, '\n', (size_t)(end - s));

        eol = eol ? eol : end;
        while (s < eol && (*s == ' ' || *s == '\t'))
            s++;
        r = add_imports_of_line (k, folder, s, eol, reterr);
        s = eol + (eol < end);
    }
    dt_free (folder);
    return r;
}

/* --- the whole ----------------------------------------------------------------- */

static int add_program (const struct dt_ctl *c, struct dt_collected *k, const char *beside,
                        const struct dt_site *site, struct dt_err *reterr)
{
    const char *name = site->program;

    if (exists (beside, name))
        return add (k, beside, name, reterr);
    if (exists (installed (c), name))
        return add (k, installed (c), name, reterr);
    return dt_err_set (reterr, -ENOENT,
                       "program %s of %s/%s is neither in %s nor in %s (--programs FOLDER)", name,
                       site->family, site->site, beside, installed (c));
}

static int collect (const struct dt_ctl *c, const char *path, struct dt_collected *k,
                    struct dt_err *reterr)
{
    const char *slash = strrchr (path, '/');
    char *beside;
    int r;

    if (!(k->name = dt_strdup (slash ? slash + 1 : path)))
        return dt_err_nomem (reterr);
    if ((r = dt_file_read (path, DEPLOYMENT_MAX_BYTES, &k->data, reterr)) < 0
        || (r = dt_deployment_parse (path, k->data.data, k->data.len, &k->deployment, reterr)) < 0)
        return r;
    if (!(beside = folder_of (path)))
        return dt_err_nomem (reterr);
    for (size_t i = 0; r == 0 && i < k->deployment->n_sites; i++)
        r = add_program (c, k, beside, &k->deployment->site[i], reterr);
    for (size_t i = 0; r == 0 && i < k->n_files; i++)
        r = add_imports (k, i, reterr);
    dt_free (beside);
    return r;
}

int dt_collect (const struct dt_ctl *c, const char *path, struct dt_collected *ret,
                struct dt_err *reterr)
{
    struct dt_collected k = { 0 };
    int r = collect (c, path, &k, reterr);

    if (r < 0)
        dt_collected_done (&k);
    else
        *ret = k;
    return r;
}

void dt_collected_message (struct dt_collected *k, Detent__File *head, Detent__File *file,
                           Detent__File **list, Detent__Deployment *ret)
{
    detent__file__init (head);
    head->name = k->name;
    head->data = (ProtobufCBinaryData){ k->data.len, k->data.data };
    for (size_t i = 0; i < k->n_files; i++) {
        detent__file__init (&file[i]);
        file[i].name = k->file[i].name;
        file[i].data = (ProtobufCBinaryData){ k->file[i].data.len, k->file[i].data.data };
        list[i] = &file[i];
    }
    detent__deployment__init (ret);
    ret->file = head;
    ret->program = list;
    ret->n_program = k->n_files;
}

size_t dt_collected_sources (const struct dt_collected *k, const struct dt_site *site,
                             struct dt_source *ret)
{
    size_t n = 1;

    for (size_t i = 0; i < k->n_files; i++) {
        const struct dt_collected_file *f = &k->file[i];
        size_t at = strcmp (f->name, site->program) ? n++ : 0;

        ret[at] = (struct dt_source){ f->name, (const char *)f->data.data, f->data.len };
    }
    return n;
}
