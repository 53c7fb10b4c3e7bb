"""A user's module: examples in the doc comments of the package import their functions here."""
import numpy

# What needs torch.
OF_TORCH = ("EmbedPosition", "RotaryEmbedding", "alibi", "apply_rotary_emb", "apply_rotary_pos_emb")

try:
    import torch
except ModuleNotFoundError:  # then the examples of functions of torch are left out
    torch = None


def softmax(x):
    e = numpy.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def scan(log_p, h, s0):
    s, last = numpy.empty_like(h), s0
    with numpy.errstate(all="ignore"):
        for i in range(h.shape[1]):
            last = s[:, i] = numpy.logaddexp(log_p[:, i] + last, h[:, i])
    return s, last


def _turned(x, angle):
    cos, sin = numpy.cos(angle).astype(x.dtype), numpy.sin(angle).astype(x.dtype)
    first, second = numpy.split(x, 2, -1)
    return numpy.concatenate([first * cos - second * sin, first * sin + second * cos], -1)


def _angles(position, width):
    return position[..., None] * 10000.0 ** (-numpy.arange(width // 2) / max(width // 2, 1))


def rotate(x, position):
    """RoPE of x [B, n, h, d], the halves of d as pairs."""
    return _turned(x, _angles(position, x.shape[-1])[:, :, None])


def rotate_heads_first(x, position):
    """x [B, h, n, d]."""
    return _turned(x, _angles(position, x.shape[-1])[:, None])


def rotate_from(x, offset=0):
    """x [B, n, h, d], whose first token stands at an offset."""
    return rotate(x, numpy.arange(offset, offset + x.shape[1])[None])


def rotate_one_row(x, position):
    """position [n], for all rows of x."""
    return rotate(x, position[None])


def rotate_on_axes(x, position):
    """position [3, B, n]: frame, row and column of a patch. The pairs are shared equally by the axes."""
    angle = _angles(position, x.shape[-1])
    share = angle.shape[-1] // 3
    shares = [angle[axis, ..., axis * share:(axis + 1) * share] for axis in range(3)]
    return _turned(x, numpy.concatenate(shares, -1)[:, :, None])


def sinusoids(length, width):
    """[length, width]: sines and cosines in turn."""
    angle = _angles(numpy.arange(length), width + width % 2)
    return numpy.stack([numpy.sin(angle), numpy.cos(angle)], -1).reshape(length, -1)[:, :width]


def rotate_half(x):
    first, second = x.chunk(2, -1)
    return torch.cat([-second, first], -1)


def apply_rotary_pos_emb(q, k, cos, sin):
    """As transformers has it: q and k [B, h, n, d], cos and sin [B, n, d]."""
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


def apply_rotary_emb(xq, xk, freqs_cis):
    """As Llama has it: xq and xk [B, n, h, d], freqs_cis [n, d/2]."""
    def turned(x):
        pairs = torch.view_as_complex(x.to(torch.promote_types(x.dtype, torch.float32)).reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * freqs_cis[None, :, None]).flatten(-2).type_as(x)
    return turned(xq), turned(xk)


def alibi(heads, tokens):
    """Slopes and biases in one: [h, n, n]."""
    slopes = 2.0 ** (-8.0 * torch.arange(1, heads + 1) / heads)
    return slopes[:, None, None] * (torch.arange(tokens) - torch.arange(tokens)[:, None])


if torch is not None:
    class RotaryEmbedding(torch.nn.Module):
        """Cosines and sines [B, n, d] of one width."""

        def __init__(self, width, base=10000.0):
            super().__init__()
            self.theta = base ** (-torch.arange(0, width, 2, dtype=torch.float64) / max(width, 1))

        def forward(self, x, position):
            angle = (position[..., None] * self.theta).repeat(1, 1, 2)
            return angle.cos().to(x.dtype), angle.sin().to(x.dtype)

    class EmbedPosition(torch.nn.Module):
        """Heinsen's, on sequences from their first token on."""

        def __init__(self, d_emb, d_hid):
            super().__init__()
            self.d_emb, self.H, self.R = d_emb, torch.nn.Linear(d_emb, 2 * d_hid), torch.nn.Linear(d_hid, d_emb)

        def forward(self, x):
            g, h = self.H(x).chunk(2, -1)
            s, states = torch.zeros_like(h[:, 0]), []
            for i in range(h.shape[1]):
                s = torch.logaddexp(torch.nn.functional.logsigmoid(g[:, i]) + s, h[:, i])
                states.append(s)
            return x + self.R(torch.stack(states, 1))
