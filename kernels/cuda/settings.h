/* cuda/settings.h - what the environment tells the backend.
 * Uses: nothing.  Used by: kernels/cuda, kernels/allreduce/cuda. */
#ifndef KERNELS_CUDA_SETTINGS_H
#define KERNELS_CUDA_SETTINGS_H

#include <detent/backend.h>

/* One that is empty is not set. */
#define CUDA_SETTING_CLOCK  "DETENT_CUDA_CLOCK"     /* "cupti", "events" */
#define CUDA_SETTING_SHARED "DETENT_CUDA_SHARED"    /* 0, 1              */
#define CUDA_SETTING_LEAST  "DETENT_CUDA_LEAST_MHZ" /* 0 to 100,000      */
#define CUDA_SETTING_PEER   "DETENT_CUDA_PEER_MS"   /* 1 to 3,600,000    */

/* Has each that is set a value that it can have?  What is misspelt would else be left out
 * without a word.
 *   -EINVAL  the text names it and what it can be */
int cuda_settings_check (struct dt_backend_error *err);

int cuda_setting_is (const char *name, const char *word);
/* Its number, or `otherwise` if it is not set, or no number. */
uint64_t cuda_setting_number (const char *name, uint64_t otherwise);
#endif
