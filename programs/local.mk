# programs/: SelIR programs, and the module that runs them under CPython.
nobase_dist_pkgdata_DATA += \
	programs/detent/allreduce.py \
	programs/detent/allreduce_cuda.py \
	programs/detent/attention.py \
	programs/detent/gemm.py \
	programs/detent/gemm_cuda.py \
	programs/detent/moe-host-8-4-256-128.json \
	programs/detent/moe.py \
	programs/detent/rowwise.py \
	programs/selir.py

dist_deployments_DATA += \
	deployments/llama-3.1-70b-tp2-h200.yaml \
	deployments/llama-3.1-70b-tp4-h200.yaml \
	deployments/qwen3-30b-a3b-h200.yaml \
	deployments/qwen3-30b-a3b-tp2-h200.yaml

# programs/sglang/: SGLang's selections.
nobase_dist_pkgdata_DATA += \
	programs/sglang/E=128,N=192,device_name=NVIDIA_H100_80GB_HBM3.json \
	programs/sglang/allreduce.py \
	programs/sglang/deployment.in \
	programs/sglang/fa3.py \
	programs/sglang/fa3_tiles.py \
	programs/sglang/gemm.py \
	programs/sglang/moe.py \
	programs/sglang/rmsnorm.py
dist_deployments_DATA += \
	deployments/gpus.yaml \
	deployments/llama-3.1-70b-tp4-h100-sglang.yaml \
	deployments/qwen3-30b-a3b-tp4-h100-sglang.yaml
dist_doc_DATA += doc/engines.md doc/gpu-results.md

# programs/vllm/: vLLM's selections.
nobase_dist_pkgdata_DATA += \
	programs/vllm/E=128,N=192,device_name=NVIDIA_H100_80GB_HBM3.json \
	programs/vllm/E=128,N=192,device_name=NVIDIA_H200.json \
	programs/vllm/E=128,N=768,device_name=NVIDIA_H100_80GB_HBM3.json \
	programs/vllm/E=128,N=768,device_name=NVIDIA_H200.json \
	programs/vllm/allreduce.py \
	programs/vllm/deployment.in \
	programs/vllm/fa3.py \
	programs/vllm/fa3_tiles.py \
	programs/vllm/fused_moe.py \
	programs/vllm/gemm.py \
	programs/vllm/rms_norm.py
EXTRA_DIST += programs/vllm/README.md
dist_deployments_DATA += \
	deployments/llama-3.1-70b-tp4-h100-vllm.yaml \
	deployments/qwen3-30b-a3b-tp4-h100-vllm.yaml
