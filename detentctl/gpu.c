/* detentctl/gpu.c - facts of GPU models, from gpus.yaml. */
#include "detentctl/gpu.h"

#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/suggest.h"

#define MAX_GPUS 256

static const struct dt_yaml *entry (const struct dt_yaml *map, const char *key, uint8_t kind)
{
    const struct dt_yaml *y = map->kind == DT_YAML_MAP ? map->first : NULL;

    while (y && strcmp (y->key, key) != 0)
        y = y->next;
    return y && y->kind == kind ? y : NULL;
}

static int take (const char *path, const struct dt_yaml *map, struct dt_gpu *ret,
                 struct dt_err *reterr)
{
    const struct {
        const char *key;
        uint8_t kind;
        const char **text;
        int64_t *i;
    } field[] = {
        { "name", DT_YAML_TEXT, &ret->name, NULL },
        { "device_name", DT_YAML_TEXT, &ret->device_name, NULL },
        { "arch", DT_YAML_INT, NULL, &ret->arch },
        { "sms", DT_YAML_INT, NULL, &ret->sms },
        { "shared_bytes", DT_YAML_INT, NULL, &ret->shared_bytes },
        { "multicast", DT_YAML_BOOL, NULL, &ret->multicast },
    };
    const struct dt_yaml *y;

    for (size_t i = 0; i < DT_ARRAY_SIZE (field); i++) {
        if (!(y = entry (map, field[i].key, field[i].kind)))
            return dt_err_set (reterr, -DT_EINPUT, "%s:%zu:%zu: a GPU needs %s", path, map->line,
                               map->column, field[i].key);
        if (field[i].text)
            *field[i].text = y->text;
        else
            *field[i].i = y->i;
    }
    return 0;
}

static int unknown (const char *path, const char *name, const char *const *known, size_t n,
                    struct dt_err *reterr)
{
    const char *near = dt_suggest (name, known, n);
    char list[512] = "";

    for (size_t i = 0; i < n && strlen (list) + strlen (known[i]) + 3 < sizeof list; i++) {
        strcat (list, i ? ", " : "");
        strcat (list, known[i]);
    }
    if (near)
        return dt_err_set (reterr, -DT_EINPUT, "%s has no GPU '%.64s'; did you mean '%s'?", path,
                           name, near);
    return dt_err_set (reterr, -DT_EINPUT, "%s has no GPU '%.64s', only %s", path, name, list);
}

static int find (const char *path, const struct dt_yaml *root, const char *name,
                 struct dt_gpu *ret, struct dt_err *reterr)
{
    const struct dt_yaml *list = entry (root, "gpus", DT_YAML_LIST), *y;
    const char *known[MAX_GPUS] = { NULL };
    struct dt_gpu gpu;
    size_t n = 0;
    int r;

    if (!list)
        return dt_err_set (reterr, -DT_EINPUT, "%s: no list of gpus", path);
    for (y = list->first; y && n < MAX_GPUS; y = y->next) {
        if ((r = take (path, y, &gpu, reterr)) < 0)
            return r;
        known[n++] = gpu.name;
        if (strcmp (gpu.name, name) == 0) {
            *ret = gpu;
            return 0;
        }
    }
    return unknown (path, name, known, n, reterr);
}

int dt_gpu_find (const char *path, const char *name, struct dt_arena *arena, struct dt_gpu *ret,
                 struct dt_err *reterr)
{
    struct dt_buf b = { 0 };
    struct dt_yaml *root;
    int r;

    if ((r = dt_file_read (path, DT_YAML_MAX_BYTES, &b, reterr)) == 0
        && (r = dt_yaml_parse (path, b.data, b.len, arena, &root, reterr)) == 0)
        r = find (path, root, name, ret, reterr);
    dt_buf_done (&b);
    return r;
}
