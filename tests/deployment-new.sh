#!/bin/sh
# deployment new: from a config.json it writes the shipped deployments, byte for byte, and
# it refuses by name what it does not know.
set -eu
. "$top_srcdir/tests/lib.sh"
configs=$top_srcdir/tests/configs
DETENT_PROGRAMS=$top_srcdir/programs
export DETENT_PROGRAMS

new () # CONFIG MODEL ENGINE OPTIONS...
{
    config=$1 model=$2 engine=$3
    shift 3
    "$ctl" deployment new --engine "$engine" --model-config "$config" --model "$model" --tp 4 --gpu H100-SXM "$@"
}

for engine in sglang vllm; do
    for pair in llama-3.1-70b=meta-llama/Llama-3.1-70B-Instruct qwen3-30b-a3b=Qwen/Qwen3-30B-A3B; do
        short=${pair%%=*}
        name=$short-tp4-h100-$engine
        new "$configs/$short.json" "${pair#*=}" "$engine" --name "$name" -o "$tmp/$name.yaml"
        cmp "$tmp/$name.yaml" "$top_srcdir/deployments/$name.yaml" || fail "$name differs from the shipped one"
        new "$configs/$short.json" "${pair#*=}" "$engine" --name "$name" | cmp - "$tmp/$name.yaml" || fail "standard output"
        "$ctl" deployment check "$tmp/$name.yaml" > /dev/null
    done
done

# Names made from model, ranks, GPU and engine; other GPUs and ranks; no tuned table.
new "$configs/qwen3-30b-a3b.json" Qwen/Qwen3-30B-A3B vllm --tp 2 --gpu H200-SXM -o "$tmp/h200.yaml"
grep -q '^name: qwen3-30b-a3b-tp2-h200-sxm-vllm$' "$tmp/h200.yaml" || fail "the made name"
grep -q 'table: "none"' "$tmp/h200.yaml" || fail "a table that is not there"
"$ctl" deployment check "$tmp/h200.yaml" > /dev/null
new "$configs/llama-3.1-70b.json" m/l sglang --tp 2 -o "$tmp/tp2.yaml"
grep -q 'graph_max_batch: 256' "$tmp/tp2.yaml" || fail "fewer graphs with two ranks"
new "$configs/llama-3.1-70b.json" m/l vllm --tp 16 -o "$tmp/tp16.yaml"
grep -q 'q_heads: 4, kv_heads: 1,' "$tmp/tp16.yaml" || fail "KV heads are copied where ranks share one"

refuse () # PATTERN COMMAND...
{
    want=$1
    shift
    if "$@" > "$tmp/out" 2> "$tmp/err"; then
        fail "accepted: $*"
    else
        [ $? -eq 2 ] || fail "exit code of: $*: $(cat "$tmp/err")"
    fi
    grep -q -- "$want" "$tmp/err" || fail "no '$want' in: $(cat "$tmp/err")"
    [ ! -s "$tmp/out" ] || fail "output of a refusal"
}
llama=$configs/llama-3.1-70b.json
qwen=$configs/qwen3-30b-a3b.json
edit () # SED CONFIG
{
    sed "$1" "$2" > "$tmp/config.json"
}

for field in hidden_size intermediate_size max_position_embeddings model_type num_attention_heads num_hidden_layers \
    torch_dtype vocab_size; do
    edit "/\"$field\"/d" "$llama"
    [ $field = vocab_size ] && edit 's/,$/,/; /"vocab_size"/d; s/"torch_dtype": "bfloat16",/"torch_dtype": "bfloat16"/' "$llama"
    refuse "\"$field\": missing" new "$tmp/config.json" m vllm
done
for field in num_experts_per_tok; do
    edit "/\"$field\"/d" "$qwen"
    refuse "\"$field\": missing" new "$tmp/config.json" m vllm
done
while read -r line what; do
    edit "s/^{/{ $line,/" "$llama"
    refuse "$what" new "$tmp/config.json" m sglang
done <<'EOF'
"kv_lora_rank":512 "kv_lora_rank": latent attention is not supported
"quantization_config":{"bits":4} "quantization_config": quantised weights
"n_shared_experts":1 "n_shared_experts": shared experts
"first_k_dense_replace":3 "first_k_dense_replace": dense layers
"text_config":{"a":1} "text_config": several models
"layer_types":["full_attention","sliding_attention"] "layer_types": layers of several kinds
"sliding_window_pattern":6 "sliding_window_pattern": not known
"n_routed_experts":64 "n_routed_experts": not known
"shared_expert_intermediate_size":5632 "shared_expert_intermediate_size": shared experts
"mamba_d_state":16 "mamba_d_state": state-space
"attn_layer_period":8 "attn_layer_period": not known
"use_sliding_window":true,"max_window_layers":28 "max_window_layers": layers of several kinds
"hidden_size":1 duplicate
"head_dim":0 "head_dim": must be an integer
"head_dim":1.5 "head_dim": must be an integer
"head_dim":"a" "head_dim": must be an integer
EOF
edit 's/"num_key_value_heads": 8/"num_key_value_heads": 7/' "$llama"
refuse '"num_key_value_heads": does not divide' new "$tmp/config.json" m vllm
edit 's/"bfloat16"/"int8"/' "$llama"
refuse '"torch_dtype": must be' new "$tmp/config.json" m vllm
edit 's/"mlp_only_layers": \[\]/"mlp_only_layers": [0]/' "$qwen"
refuse '"mlp_only_layers": dense layers' new "$tmp/config.json" m vllm
edit 's/"model_type": "llama"/"model_type": "jamba"/' "$llama"
refuse '"model_type": its layers are not known' new "$tmp/config.json" m vllm
printf '{' > "$tmp/config.json"
refuse 'config.json:1:' new "$tmp/config.json" m vllm
printf '[1]' > "$tmp/config.json"
refuse 'no object' new "$tmp/config.json" m vllm

refuse '--tp 3 does not divide num_attention_heads, 64' new "$llama" m vllm --tp 3
refuse '--tp 64 does not divide num_attention_heads, 32' new "$qwen" m vllm --tp 64
refuse '--tp is at least 1' new "$llama" m vllm --tp 0
refuse "no GPU 'H100-SMX'; did you mean 'H100-SXM'" new "$llama" m vllm --gpu H100-SMX
refuse "no GPU 'T4', only A100-SXM" new "$llama" m vllm --gpu T4
refuse "'vlm' is not sglang or vllm; did you mean 'vllm'" new "$llama" m vlm
refuse "--model TEXT is missing" "$ctl" deployment new --engine vllm --model-config "$llama" --tp 4 --gpu H100-SXM
refuse "--gpu NAME is missing" "$ctl" deployment new --engine vllm --model-config "$llama" --tp 4
refuse "is not a name" new "$llama" m vllm --name 'A B'
# A written deployment whose program was changed so that nothing can be pinned: exit code 1.
mkdir "$tmp/cut"
sed 's/threads=threads, vector/threads=call.tokens * call.tokens, vector/' "$top_srcdir/programs/vllm/rms_norm.py" \
    > "$tmp/cut/rms_norm.py"
new "$llama" m/l vllm -o "$tmp/cut/d.yaml"
if "$ctl" solve --offline --json "$tmp/cut/d.yaml" > "$tmp/out" 2> "$tmp/err"; then
    fail "a selection that cannot be made invariant"
else
    [ $? -eq 1 ] || fail "exit code of a selection that cannot be made invariant"
fi
grep -q 'selection point threads cannot be made invariant' "$tmp/err" || fail "no path that shows why"
echo "deployment new: written as shipped, refusals by name"
