/* cuda/nvml.h - the device's state as the driver's management library reports it.
 * Uses: library.h, plant.h.  Used by: kernels/cuda. */
#ifndef KERNELS_CUDA_NVML_H
#define KERNELS_CUDA_NVML_H

#include "kernels/cuda/cuda.h"

struct cuda_nvml_state {
    uint32_t sm_mhz, memory_mhz; /* 0: not reported */
    uint32_t known;     /* DT_BACKEND_KNOWS_...: what is not is 0 below */
    uint64_t reasons;   /* clock event reasons, NVML's mask */
    uint32_t others;    /* processes that compute on the device, but for those of this one's
                         * program that are its parent, its children or its parent's: a daemon's
                         * workers take turns, and ranks of a group work together */
    uint32_t listed;    /* 1: this process is among those that it knows by their numbers here */
    uint32_t other_pid; /* one of them; 0: none, or more than NVML was given room to name */
    char why[96];       /* that `others` is not known */
};

/* The library, for the device of this PCI address ("0000:1b:00.0").
 *   -ENOENT             not there, or too old
 *   -DT_BACKEND_EDEVICE no such device, or it does not answer
 *   -DT_BACKEND_ELOST   the device is lost */
int cuda_nvml_new (const char *pci, struct cuda_nvml **ret, struct dt_backend_error *err);
struct cuda_nvml *cuda_nvml_free (struct cuda_nvml *nvml); /* NULL ok; returns NULL */

const char *cuda_nvml_driver (const struct cuda_nvml *nvml); /* "580.159.04" */
uint32_t cuda_nvml_most_mhz (const struct cuda_nvml *nvml);  /* the highest SM clock; 0: not reported */

/* What a device does not report stays 0, and is not in `known`.
 *   -DT_BACKEND_ELOST  the device is lost */
int cuda_nvml_read (struct cuda_nvml *nvml, struct cuda_nvml_state *ret,
                    struct dt_backend_error *err);
#endif
