/* detentctl/collect.c - a deployment with the programs that it needs. */
#include "detentctl/collect.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

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
char *dt_collect_folder (const char *path)
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

const char *dt_collect_programs (const struct dt_ctl *c)
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

static int ends_in (const char *s, size_t n, const char *end)
{
    size_t k = strlen (end);

    return n > k && !memcmp (s + n - k, end, k);
}

/* The data files that a line names in quotes, if the folder has them: "NAME.json". */
static int add_data_of_line (struct dt_collected *k, const char *folder, const char *s,
                             const char *end, struct dt_err *reterr)
{
    const char *close;
    char *name;
    int r = 0;

    for (; r == 0 && s < end; s++) {
        if ((*s != '"' && *s != '\'') || !(close = memchr (s + 1, *s, (size_t)(end - s - 1))))
            continue;
        if (ends_in (s + 1, (size_t)(close - s - 1), ".json")
            && !memchr (s + 1, '/', (size_t)(close - s - 1))) {
            if (!(name = dt_strndup (s + 1, (size_t)(close - s - 1))))
                return dt_err_nomem (reterr);
            r = exists (folder, name) ? add (k, folder, name, reterr) : 0;
            dt_free (name);
        }
        s = close;
    }
    return r;
}

/* Imports and data files of file i; files that it adds come later in the list. */
static int add_imports (struct dt_collected *k, size_t i, struct dt_err *reterr)
{
    struct dt_buf *data = &k->file[i].data; /* add() may move the list: take copies */
    const char *s = (const char *)data->data, *end = s + data->len;
    char *folder = dt_strdup (k->file[i].folder);
    int r = folder ? 0 : dt_err_nomem (reterr);

    if (!ends_in (k->file[i].name, strlen (k->file[i].name), ".py"))
        end = s;
    while (r == 0 && s < end) {
        const char *eol = memchr (s, '\n', (size_t)(end - s));

        eol = eol ? eol : end;
        while (s < eol && (*s == ' ' || *s == '\t'))
            s++;
        if ((r = add_imports_of_line (k, folder, s, eol, reterr)) == 0)
            r = add_data_of_line (k, folder, s, eol, reterr);
        s = eol + (eol < end);
    }
    dt_free (folder);
    return r;
}

/* --- the whole ----------------------------------------------------------------- */

int dt_collect_data (struct dt_collected *k, const char *beside, const char *folder,
                     const char *place, const struct dt_fact *f, struct dt_err *reterr)
{
    if (f->kind != DT_FACT_STR || !ends_in (f->s, strlen (f->s), ".json"))
        return 0;
    if (strchr (f->s, '/'))
        return dt_err_set (reterr, -DT_EINPUT, "%s of %s: a data file has no folder: %s", f->name,
                           place, f->s);
    if (exists (beside, f->s) || exists (folder, f->s))
        return add (k, exists (beside, f->s) ? beside : folder, f->s, reterr);
    if (!strcmp (beside, folder))
        return dt_err_set (reterr, -ENOENT, "data file %s of %s is not in %s", f->s, place, folder);
    return dt_err_set (reterr, -ENOENT, "data file %s of %s is neither in %s nor in %s", f->s,
                       place, beside, folder);
}

/* The data files that the site's facts name. */
static int add_data (struct dt_collected *k, const char *beside, const char *folder,
                     const struct dt_site *site, struct dt_err *reterr)
{
    char *place = dt_strf ("%s/%s", site->family, site->site);
    int r = place ? 0 : dt_err_nomem (reterr);

    for (size_t i = site->n_limits; r == 0 && i < site->n_facts; i++)
        r = dt_collect_data (k, beside, folder, place, &site->fact[i], reterr);
    dt_free (place);
    return r;
}

/* Where programs are looked for, in this order: beside the deployment, in the programs'
 * folder, in its sub-folder of the engine's name, and in that of Detent's own. */
static int add_program (const struct dt_ctl *c, struct dt_collected *k, const char *beside,
                        const struct dt_site *site, struct dt_err *reterr)
{
    const char *name = site->program, *root = dt_collect_programs (c);
    char *place[] = { dt_strdup (beside), dt_strdup (root),
                      dt_strf ("%s/%s", root, k->deployment->engine),
                      dt_strf ("%s/detent", root) };
    size_t i = 0;
    int r;

    while (i < DT_ARRAY_SIZE (place) && place[i] && !exists (place[i], name))
        i++;
    if (i == DT_ARRAY_SIZE (place))
        r = dt_err_set (reterr, -ENOENT,
                        "program %s of %s/%s is neither in %s nor in %s (--programs FOLDER)", name,
                        site->family, site->site, beside, root);
    else if (!place[i])
        r = dt_err_nomem (reterr);
    else if ((r = add (k, place[i], name, reterr)) == 0)
        r = add_data (k, beside, place[i], site, reterr);
    for (i = 0; i < DT_ARRAY_SIZE (place); i++)
        dt_free (place[i]);
    return r;
}

static int collect (const struct dt_ctl *c, const char *path, struct dt_collected *k,
                    struct dt_err *reterr)
{
    const char *slash = strrchr (path, '/');
    char *beside;
    int r;

    if (!(k->name = dt_strdup (slash ? slash + 1 : path)))
        return dt_err_nomem (reterr);
    if ((r = dt_file_read (path, DT_DEPLOYMENT_MAX_BYTES, &k->data, reterr)) < 0
        || (r = dt_deployment_parse (path, k->data.data, k->data.len, &k->deployment, reterr)) < 0)
        return r;
    if (!(beside = dt_collect_folder (path)))
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

static int collect_program (const char *path, struct dt_collected *k, struct dt_err *reterr)
{
    const char *slash = strrchr (path, '/'), *name = slash ? slash + 1 : path;
    char *beside;
    int r;

    if (!ends_in (name, strlen (name), ".py"))
        return dt_err_set (reterr, -DT_EUSAGE, "%s: a program's name ends in .py", path);
    if (!(beside = dt_collect_folder (path)))
        return dt_err_nomem (reterr);
    r = add (k, beside, name, reterr);
    for (size_t i = 0; r == 0 && i < k->n_files; i++)
        r = add_imports (k, i, reterr);
    dt_free (beside);
    return r;
}

int dt_collect_program (const char *path, struct dt_collected *ret, struct dt_err *reterr)
{
    struct dt_collected k = { 0 };
    int r = collect_program (path, &k, reterr);

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
