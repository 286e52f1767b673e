/* detentctl/collect.h - a deployment with the programs that it needs.
 * Uses: solver/, proto/, base/.  Used by: cmd_solve.c, cmd_deployment_check.c, solved.c,
 * selir.c.
 *
 * A program is looked for beside the deployment file, then in the installed
 * programs' folder (--programs, $DETENT_PROGRAMS, or the one of this build), and
 * there in the folder of the engine's name and in detent/.  With it go those of its
 * folder that it imports, and that these import, and data files: those named in
 * quotes in a program, and those that a site's facts name ("NAME.json"; beside the
 * deployment, or with the program).  selir.py is the language itself and stays. */
#ifndef DT_CTL_COLLECT_H
#define DT_CTL_COLLECT_H

#include "base/buf.h"
#include "detentctl/options.h"
#include "proto/wire.h"
#include "solver/deployment.h"

#define DT_DEPLOYMENT_MAX_BYTES (1u << 20)

/* The programs' folder. */
const char *dt_collect_programs (const struct dt_ctl *c);

struct dt_collected_file {
    char *name, *folder; /* "attention.py", "programs/detent" */
    struct dt_buf data;
};
struct dt_collected {
    char *name; /* of the deployment's file, without its folder */
    struct dt_buf data;
    struct dt_deployment *deployment; /* NULL if there is none */
    struct dt_collected_file *file;
    size_t n_files, room_files;
};

/*   -ENOENT     the file, or a program, is not there
 *   -DT_EINPUT  the deployment is not valid, or two files have one name */
int dt_collect (const struct dt_ctl *c, const char *path, struct dt_collected *ret,
                struct dt_err *reterr);
/* A program alone, first, and what it imports; there is no deployment.
 *   -DT_EUSAGE  the name does not end in .py     -ENOENT  it is not there */
int dt_collect_program (const char *path, struct dt_collected *ret, struct dt_err *reterr);
/* The data file that a fact of `place` names, if it is one ("NAME.json"): of the folder
 * `beside`, or of `folder`.
 *   -DT_EINPUT  it is with a folder, or two files have its name     -ENOENT */
int dt_collect_data (struct dt_collected *k, const char *beside, const char *folder,
                     const char *place, const struct dt_fact *fact, struct dt_err *reterr);
/* The folder of a file, the caller's: "a/b.yaml" -> "a"; "b.yaml" -> "."; NULL: out of memory. */
char *dt_collect_folder (const char *path);
void dt_collected_done (struct dt_collected *k);

/* The message of it; borrows from `k`.  `file` has room for k->n_files. */
void dt_collected_message (struct dt_collected *k, Detent__File *head, Detent__File *file,
                           Detent__File **list, Detent__Deployment *ret);

/* The sources of one site's program: it comes first.  `ret` has room for n_files. */
size_t dt_collected_sources (const struct dt_collected *k, const struct dt_site *site,
                             struct dt_source *ret);

#endif
