"""assay.check_embed_position, for modules of Heinsen's form with H and R of their own:

    (g, h) = H(x);  s_i = log(sigmoid(g_i) exp(s_{i-1}) + exp(h_i));  y_i = x_i + R(s_i)

(F. A. Heinsen, "Encoding Position by Decaying and Updating Different Exponentiated States Differently", 2024; his module
EmbedPosition says that H and R may be replaced.) H may be an MLP, a convolution, anything; R too. The module is called on
tokens, whole and in chunks. What H returned and what R was given are two sides of a call of heinsen/gated_scan, and
Assay's truth judges it; so it does with the gradients that arrive at both. The residual is judged around R.

    def test_my_position():
        print(assay.check_embed_position(EmbedPosition(512, 512)))
"""
from assay.embedding_parts import DTYPES, Check
from assay.modules import dtypes_of_module
from assay.watching import NotEmbedPosition, Watch, copy_of, takes_word

_ROWS, _LENGTHS = 3, (1, 2, 17, 64)


class EmbedPositionReport(dict):
    """The findings (Part) by dtype and by part ("scan", "chunk state", "residual", "gradient"). print shows them all.

        >>> from model import EmbedPosition
        >>> report = assay.check_embed_position(EmbedPosition(8, 4), cuts=[])
        >>> [name for name, part in report["f32"].items() if part.wrong]
        []
    """

    def __init__(self, name):
        super().__init__()
        self.name = name

    @property
    def is_right(self):
        """Whether no part is wrong; check_embed_position raises AssertionError of a report that is not.

            >>> from model import EmbedPosition
            >>> assay.check_embed_position(EmbedPosition(8, 4), sizes={"n": 4}, cuts=[]).is_right
            True
        """
        return not any(part.wrong for parts in self.values() for part in parts.values())

    def __str__(self):
        lines = [f"{self.name}: {'right' if self.is_right else 'wrong'}"]
        lines += [f"- {name} in {dtype}: {part}" for dtype, parts in self.items() for name, part in parts.items()]
        return "\n".join(lines)


def check_embed_position(module, x=None, dtypes=None, *, h="H", r="R", sizes=None, cuts=None, continued=None,
                         state="detached", gate="logits", initial=0.0, largest=1000.0, compute=None, seed=1):
    """Judges the scan between H and R, the residual around them, chunks, and the gradients; AssertionError says what is
    wrong, NotEmbedPosition (a ValueError) why the module cannot be watched. Returns a report: print it.

    x          an example of tokens [..., n, e]; otherwise normal numbers are drawn, in `sizes`: {"B": 3, "n": [1, 2, 17,
               64], "e": 512}. Without e that of module.d_emb or of H.in_features
    dtypes     such as ["f32", "bf16"]: a copy is converted; otherwise that of the parameters
    h, r       the names of the submodules: "position.to_logits"
    cuts       chunks of a sequence, in tokens: [[5, 12], [1, 1, 15]]; [] for a module that keeps no state
    continued  the words of a call that goes on: {"using_prev_context": True}
    state      the state that is handed on is "detached", as published, or "attached": gradients reach the chunk before
    gate       what H returns first: "logits", to which the module applies log-sigmoid, or "log_p" itself
    initial    s_0, a number
    largest    of the numbers that H returns in a second round, whatever it is given: exponentials of such overflow. None
               leaves that round out, and so judges what this H returns alone
    compute    the precision of the scan's arithmetic by dtype, {"bf16": "bf16"}, as among the claims of a candidate

        >>> from model import EmbedPosition  # which keeps no state: cuts=[]
        >>> print(assay.check_embed_position(EmbedPosition(8, 4), cuts=[]))
        EmbedPosition: right
        - scan in f32: right in 10 calls, ...
        - chunk state in f32: not judged
        - residual in f32: right in 10 calls
        - gradient in f32: right in 10 calls, ...
    """
    __tracebackhide__ = True
    for word, value, known in (("state", state, ("detached", "attached")), ("gate", gate, ("logits", "log_p"))):
        if value not in known:
            raise ValueError(f"{word} must be one of {', '.join(known)}, not {value!r}")
    unknown = [f"sizes: {axis!r}" for axis in sizes or {} if axis not in ("B", "n", "e")]
    unknown += [f"compute: {dtype!r}" for dtype in compute or {} if dtype not in DTYPES]
    unknown += [f"dtypes: {dtype!r}" for dtype in dtypes or () if dtype not in DTYPES]
    if unknown:
        raise ValueError(f"unknown in {unknown[0]}; sizes are B, n and e, dtypes {', '.join(DTYPES)}")
    copy_of(module, None)  # raises NotEmbedPosition unless it is a module
    import torch
    continued = {"using_prev_context": True} if continued is None else continued
    if cuts != [] and not all(takes_word(module, word) for word in continued):
        raise NotEmbedPosition(f"forward takes no {', '.join(continued)}: continued={{...}} has the words of a call that goes "
                               "on from the state before, and cuts=[] is for a module that keeps none")
    report = EmbedPositionReport(type(module).__name__)
    for dtype in dtypes or dtypes_of_module(module) or ["f32"]:
        own = copy_of(module, getattr(torch, DTYPES[dtype]))
        check = Check(torch, Watch(torch, own, h, r), dtype, state, gate, initial, (compute or {}).get(dtype), continued)
        report[dtype] = check.parts
        for given in (None, largest)[:1 + (largest is not None)]:
            for tokens, chunks in _sequences(torch, module, check.watch, x, sizes, cuts, seed):
                check.run(tokens, chunks, given, seed)
    if not report.is_right:
        raise AssertionError(str(report))
    return report


def _sequences(torch, module, watch, example, sizes, cuts, seed):
    """Tokens [..., n, e], and the sizes of the chunks that they are given in: the short ones first."""
    sizes = sizes or {}
    if example is not None:
        if not torch.is_tensor(example) or example.dim() < 2:
            raise ValueError("x must be a tensor of tokens [..., n, e]")
        tokens = example.detach()
    else:
        width = sizes.get("e") or getattr(module, "d_emb", None) or getattr(watch.submodule("H"), "in_features", None)
        if width is None:
            raise NotEmbedPosition("nothing tells how many columns tokens have: give sizes={\"e\": 512}, or tokens by x=")
        lengths = sizes.get("n", _LENGTHS)
        longest = max([lengths] if isinstance(lengths, int) else lengths)
        tokens = torch.randn(sizes.get("B", _ROWS), longest, width, dtype=torch.float64,
                             generator=torch.Generator().manual_seed(seed))
    longest = tokens.shape[-2]
    lengths = sizes.get("n", [n for n in _LENGTHS if n < longest] + [longest])
    middle = min(17, longest)
    usual = [[1, middle - 1], [middle // 2, middle - middle // 2], [middle - 1, 1], [2, 1, middle - 3]]
    whole = [[n] for n in ([lengths] if isinstance(lengths, int) else lengths)]
    # The last sequence shows what is left of the chunks before.
    for chunks in [*whole, *([c for c in usual if min(c) > 0] if cuts is None else cuts), [1]]:
        if min(chunks, default=0) < 1 or sum(chunks) > longest:
            raise ValueError(f"{list(chunks)} are no chunks of at most {longest} tokens")
        yield tokens[..., :sum(chunks), :], list(chunks)
