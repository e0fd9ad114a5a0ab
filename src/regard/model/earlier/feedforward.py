"""A model of feed-forward layers only, where no position sees another, to show what context contributes.

It is the Transformer without attention. The token after target position t is predicted from the target token at t, the
source token at t and the position t, by layers LayerNorm(x + FFN(x)) (sections 3.1 and 3.3).

Shapes: B sentences, S source positions, T target positions, P positions before them, D = d_model.
"""

from torch import Tensor

from regard.config.model import FeedForwardConfig
from regard.model.earlier.stacked import Stacked, StackedLayer
from regard.model.embedding import initialise
from regard.model.layers import AddNorm, FeedForward


class PositionLayer(StackedLayer):
    """A layer with the feed-forward network, the same at every position."""

    channels = reach = 0

    def __init__(self, config: FeedForwardConfig) -> None:
        super().__init__()
        self.feed_forward = FeedForward(config.d_model, config.d_ff, config.activation)
        self.around_feed_forward = AddNorm(config.d_model, config.dropout, config.norm)

    def around(self, x_BSD: Tensor, mask_BS1: Tensor) -> Tensor:
        return self._forward(x_BSD)

    def after(self, x_BTD: Tensor, past_BPC: Tensor) -> tuple[Tensor, Tensor]:
        return self._forward(x_BTD), past_BPC

    def _forward(self, x_BTD: Tensor) -> Tensor:
        around = self.around_feed_forward
        return around.leave(x_BTD, self.feed_forward(around.enter(x_BTD)))


class FeedForwardOnly(Stacked):
    """The Transformer without attention."""

    def __init__(self, config: FeedForwardConfig) -> None:
        super().__init__(
            config,
            (PositionLayer(config) for _ in range(config.encoder_layers)),
            (PositionLayer(config) for _ in range(config.decoder_layers)),
            positions=config.positions,
            norm=config.norm == "pre",
        )
        self.apply(initialise)
