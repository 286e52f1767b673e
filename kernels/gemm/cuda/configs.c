/* The catalogue of configurations that selection chooses among. */
#include "kernels/gemm/cuda/lt.h"

#define ROW(value, ...) [(value) - 1] = { __VA_ARGS__ },
const struct gemm_config gemm_configs[GEMM_N_CONFIGS] = { GEMM_CONFIGS (ROW) };

#define VALUE(value, ...) value,
const int64_t gemm_config_values[GEMM_N_CONFIGS + 1] = { 0, GEMM_CONFIGS (VALUE) };
