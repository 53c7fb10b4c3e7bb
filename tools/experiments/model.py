"""Small Transformers whose encodings of position can be exchanged.

x is [B, n, d]: segments, tokens of a segment, width. Layers are normalised at their entrance, as Heinsen's README
advises for what follows his encoding.
"""
import math
from typing import Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ENCODINGS = ("learned", "sinusoidal", "fresh", "detached", "attached", "none")
RECURRENT = ("fresh", "detached", "attached")


def log_linear_recurrence(log_p: Tensor, h: Tensor, s0: Tensor) -> Tensor:
    """s_i = LSE(log p_i + s_{i-1}, h_i) [Heinsen 2024, eq. (3)], step by step. log_p and h are [B, n, d], s0 [B, d]."""
    s, states = s0, []
    for log_p_i, h_i in zip(log_p.unbind(1), h.unbind(1)):
        s = torch.logaddexp(log_p_i + s, h_i)
        states.append(s)
    return torch.stack(states, 1)


class Learned(nn.Module):
    """A vector for each position of a segment."""

    def __init__(self, width: int, segment: int):
        super().__init__()
        self.table = nn.Embedding(segment, width)

    def forward(self, x: Tensor, state: Optional[Tensor]) -> Tuple[Tensor, Optional[Tensor]]:
        return x + self.table.weight[: x.shape[1]], state


class Sinusoidal(nn.Module):
    """[Vaswani et al. 2017, section 3.5]."""

    def __init__(self, width: int, segment: int):
        super().__init__()
        angle = torch.arange(segment)[:, None] * 10000 ** (-torch.arange(0, width, 2) / width)
        self.register_buffer("table", torch.stack([angle.sin(), angle.cos()], -1).flatten(1))

    def forward(self, x: Tensor, state: Optional[Tensor]) -> Tuple[Tensor, Optional[Tensor]]:
        return x + self.table[: x.shape[1]], state


class Recurrent(nn.Module):
    """x_i + R(s_i) with as many features as x is wide, H and R linear [Heinsen 2024, eqs. (1) to (3)]. A state of None
    is zeros."""

    def __init__(self, width: int):
        super().__init__()
        self.H, self.R = nn.Linear(width, 2 * width), nn.Linear(width, width)

    def gates(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        """log p and h, [B, n, d] each."""
        g, h = self.H(x).chunk(2, dim=-1)
        return F.logsigmoid(g), h

    def forward(self, x: Tensor, state: Optional[Tensor]) -> Tuple[Tensor, Optional[Tensor]]:
        s = log_linear_recurrence(*self.gates(x), torch.zeros_like(x[:, 0]) if state is None else state)
        return x + self.R(s), s[:, -1]


class Unencoded(nn.Module):
    def forward(self, x: Tensor, state: Optional[Tensor]) -> Tuple[Tensor, Optional[Tensor]]:
        return x, state


class Block(nn.Module):
    """Attention and a hidden layer, each added to x."""

    def __init__(self, width: int, heads: int, causal: bool):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.before_attention, self.before_hidden = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.join = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attend(self, x: Tensor) -> Tensor:
        B, n, d = x.shape
        q, k, v = self.qkv(x).reshape(B, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) / math.sqrt(d // self.heads)
        if self.causal:
            scores = scores + torch.full((n, n), -math.inf).triu(1)
        return self.join((scores.softmax(-1) @ v).transpose(1, 2).reshape(B, n, d))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attend(self.before_attention(x))
        return x + self.narrow(F.relu(self.widen(self.before_hidden(x))))


class Transformer(nn.Module):
    """Logits of tokens, from tokens. The other parts have the same first weights for every encoding."""

    def __init__(self, encoding: str, causal: bool, tokens: int, *, width: int, heads: int, layers: int, segment: int):
        super().__init__()
        self.segment, self.encoding = segment, encoding
        self.embed = nn.Embedding(tokens, width)
        self.blocks = nn.Sequential(*(Block(width, heads, causal) for _ in range(layers)))
        self.normalise, self.predict = nn.LayerNorm(width), nn.Linear(width, tokens)
        if encoding in RECURRENT:
            self.position: nn.Module = Recurrent(width)
        else:
            made = {"learned": Learned, "sinusoidal": Sinusoidal, "none": lambda *_: Unencoded()}
            self.position = made[encoding](width, segment)

    def forward(self, tokens: Tensor, state: Optional[Tensor]) -> Tuple[Tensor, Optional[Tensor]]:
        """Logits [B, n, tokens] of consecutive segments [B, n], n a multiple of the segment, and the state to hand on.
        Attention stays within a segment. The recurrence begins anew in each ("fresh"), or goes on from the segment
        before, whose part in the gradient is left out ("detached") or not ("attached"). The state handed on is
        detached."""
        parts = []
        for part in self.embed(tokens).split(self.segment, 1):
            if self.encoding == "fresh":
                state = None
            elif self.encoding == "detached" and state is not None:
                state = state.detach()
            x, state = self.position(part, state)
            parts.append(x)
        x = torch.cat(parts, 1)
        y = self.blocks(x.reshape(-1, self.segment, x.shape[2]))
        logits = self.predict(self.normalise(y))
        return logits.reshape(*tokens.shape, -1), None if state is None else state.detach()
