"""The shipped deployments: what `detentctl solve --offline --json` finds, held to what doc/engines.md states.

usage: deployments.py DETENTCTL TOP
"""
import json
import subprocess
import sys
from pathlib import Path

LAYOUT = ["block_m", "block_n", "cluster_m", "cluster_n", "math_threads", "merged", "rows", "stages"]
GEMM = dict(pins={}, knobs={"pad_rows": 5}, points=13, dependent=[], claimed=LAYOUT, total=5, legal=5)
NORM = dict(pins={}, knobs={}, points=2, dependent=[], claimed=[], total=1, legal=1)


def attention(strides, legal):
    return dict(pins={"choose.one_wg": 2, "choose.num_splits": 128, "choose.split_stride": strides},
                knobs={"metadata_ahead": 2}, points=26, dependent=["num_splits", "one_wg", "split_stride"],
                claimed=["block_m", "combine_splits"], total=2 * 128 * strides * 2, legal=legal)


def allreduce(legal):
    return dict(pins={"choose.algorithm": 4, "choose.source": 3},
                knobs={"pull_workspace_kb": 5, "push_workspace_kb": 5}, points=10,
                dependent=["algorithm", "backend", "source"], claimed=[], total=300, legal=legal)


MOE = dict(pins={"choose.row": 18, "choose.combine": 2, "point.fused_fill": 2}, knobs={}, points=21,
           dependent=["combine", "down_block_m", "down_block_n", "down_group_m", "down_stages", "down_warps", "fused_fill",
                      "up_block_m", "up_block_n", "up_group_m", "up_stages", "up_warps"],
           claimed=[], total=72, legal=72)

EXPECTED = {
    "llama-3.1-70b-tp4-h100-sglang": {
        "attention/decoder": attention(11, 2600),
        **{f"gemm/{site}": GEMM for site in ("qkv", "o", "gate-up", "down", "lm-head")},
        "allreduce/hidden": allreduce(40),
        "rowwise/norm": NORM,
    },
    "qwen3-30b-a3b-tp4-h100-sglang": {
        "attention/decoder": attention(10, 2976),
        **{f"gemm/{site}": GEMM for site in ("qkv", "o", "router", "lm-head")},
        "moe/experts": MOE,
        "allreduce/hidden": allreduce(55),
        "rowwise/norm": NORM,
        "rowwise/qk-norm": NORM,
    },
}


VLLM_GEMM = dict(pins={}, knobs={"padding": 5}, points=10, dependent=[], claimed=["rows"], total=5, legal=5)
VLLM_MOE = dict(pins={"row_of.row_key": 18, "choose.naive": 2}, knobs={}, points=11,
                dependent=["block_k", "block_m", "block_n", "group_m", "naive_blocks", "stages", "warps"],
                claimed=[], total=36, legal=18)


def vllm_attention(strides, legal):
    return dict(attention(strides, legal), points=29, claimed=["block_h", "block_m", "combine_splits"])


def vllm_allreduce(backends, algorithms):
    return dict(pins={"choose.backend": backends, "choose.algorithm": algorithms}, knobs={}, points=7,
                dependent=["algorithm", "backend", "rank_order"], claimed=["blocks", "registered"],
                total=backends * algorithms, legal=1)


def vllm_norm(pinned):
    pins = {"choose.most": 2} if pinned else {}
    return dict(pins=pins, knobs={}, points=4, dependent=["threads"] if pinned else [], claimed=[],
                total=2 if pinned else 1, legal=2 if pinned else 1)


EXPECTED |= {
    "llama-3.1-70b-tp4-h100-vllm": {
        "attention/decoder": vllm_attention(11, 2600),
        **{f"gemm/{site}": VLLM_GEMM for site in ("qkv", "o", "gate-up", "down", "lm-head")},
        "allreduce/hidden": vllm_allreduce(3, 4),
        "rowwise/norm": vllm_norm(True),
        "rowwise/first-norm": vllm_norm(True),
    },
    "qwen3-30b-a3b-tp4-h100-vllm": {
        "attention/decoder": vllm_attention(10, 2976),
        **{f"gemm/{site}": VLLM_GEMM for site in ("qkv", "o", "router", "lm-head")},
        "moe/experts": VLLM_MOE,
        "allreduce/hidden": vllm_allreduce(2, 3),
        "rowwise/norm": vllm_norm(True),
        # 2,048 columns are 256 vectors, heads of 128 are 16: fewer than either block size
        **{f"rowwise/{site}": vllm_norm(False) for site in ("first-norm", "q-norm", "k-norm")},
    },
}


def counted(families, family, site):
    """The same as `found` states, from the summary by family."""
    o = families[family]
    o = o["sites"][site] if "sites" in o else o
    return dict(pins=o["pins"], knobs=sorted(o["knobs"]), points=o["selection_points"], dependent=o["batch_dependent"],
                claimed=o["free"], total=o["candidates"], legal=o["legal"])


def short(expected):
    """`found`, as `counted` has it."""
    return dict(expected, pins=list(expected["pins"]), knobs=sorted(expected["knobs"]),
                dependent=len(expected["dependent"]), claimed=len(expected["claimed"]))


def found(site):
    """What EXPECTED states of a site."""
    points, verdicts = site["points"], site["assignments"]
    return dict(
        pins={p["name"]: len(p["candidates"]) for p in site["pins"]},
        knobs={k["name"]: len(k["values"]) for k in site["knobs"]},
        points=len(points),
        dependent=sorted(p["field"] for p in points if p["batch"] and not p["free"]),
        claimed=sorted(p["field"] for p in points if p["free"]),
        total=verdicts["total"],
        legal=verdicts["proved"] + verdicts["exhausted"],
    )


def main():
    detentctl, top = sys.argv[1], Path(sys.argv[2])
    failures = 0
    for name, expected in EXPECTED.items():
        command = [detentctl, "solve", "--offline", "--json", "--programs", str(top / "programs"),
                   str(top / "deployments" / f"{name}.yaml")]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            print(f"{name}: exit code {done.returncode}: {done.stderr}")
            failures += 1
            continue
        reply = json.loads(done.stdout)
        sites = {f"{s['family']}/{s['site']}": found(s) for s in reply["sites"]}
        for key, site in sites.items():
            if counted(reply["families"], *key.split("/")) != short(site):
                print(f"{name} {key}: families and sites differ")
                failures += 1
        for key in sorted(set(sites) | set(expected)):
            for what, want in expected.get(key, {"site": "none"}).items():
                got = sites.get(key, {}).get(what)
                if got != want:
                    print(f"{name} {key}: {what} is {got}, not {want}")
                    failures += 1
    print(f"{sum(map(len, EXPECTED.values()))} sites solved, {failures} differences")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
