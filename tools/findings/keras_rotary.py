"""What the two findings of keras-hub share: its RotaryEmbedding, with Keras on torch, and the angles that it turns by."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import shared
import torch


def rotary(version):
    """The class of this version."""
    shared.needed("keras==3.15.1", "absl-py", "namex", "optree", "h5py", "rich", "markdown-it-py", "mdurl", "pygments",
                  "ml-dtypes", "packaging")
    as_it_is = {"keras_hub_export": lambda path: lambda exported: exported}
    return shared.imported(shared.fetched("keras-hub", version), "keras_hub.src.layers.modeling.rotary_embedding",
                           without={"keras_hub.src.api_export": as_it_is}).RotaryEmbedding


def turned(layer, width, position):
    """(1, ..., 1, 0, ..., 0) at this position, turned: cosines, and then sines."""
    x = torch.cat((torch.ones(1, 1, 1, width // 2), torch.zeros(1, 1, 1, width // 2)), -1)
    return x, layer(x, positions=torch.tensor([position])).detach().cpu()
