"""Layers and functional operations, forward and backward."""

import torch
from feature_table import DEVICE, feature, numbers
from torch import nn
from torch.nn import functional as F


def constant(module, value=0.1):
    for parameter in module.parameters():
        nn.init.constant_(parameter, value)
    return module.to(DEVICE)


def forward_backward(module, *inputs):
    inputs = [value.clone().requires_grad_() for value in inputs]
    output = module(*inputs)
    output.square().mean().backward()
    return [output.sum(), *[value.grad.abs().sum() for value in inputs]]


@feature
def convolutional_network():
    torch.manual_seed(1)
    model = nn.Sequential(
        nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 6, 3, groups=6), nn.GroupNorm(2, 6), nn.GELU(), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(6, 2),
    ).to(DEVICE)  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(3):
        loss = F.cross_entropy(model(numbers(2, 3, 8, 8)), torch.tensor([0, 1], device=DEVICE))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return [losses, model[1].running_mean]


@feature
def convolutions_of_every_kind():
    cases = [
        (nn.Conv1d(2, 3, 3, stride=2), numbers(2, 2, 9)),
        (nn.Conv2d(2, 3, 3, dilation=2, padding="same"), numbers(1, 2, 6, 6)),
        (nn.Conv2d(4, 4, 3, groups=2, bias=False), numbers(1, 4, 5, 5)),
        (nn.Conv3d(1, 2, 2), numbers(1, 1, 4, 4, 4)),
        (nn.ConvTranspose1d(2, 2, 3), numbers(1, 2, 5)),
        (nn.ConvTranspose2d(2, 3, 3, stride=2, output_padding=1), numbers(1, 2, 4, 4)),
    ]
    return [forward_backward(constant(module), value) for module, value in cases]


@feature
def recurrent_layers():
    torch.manual_seed(2)
    results = []
    for layer in (
        nn.LSTM(4, 5, 2, batch_first=True, bidirectional=True),
        nn.GRU(4, 5),
        nn.RNN(4, 5),
    ):
        layer = layer.to(DEVICE)
        output, _ = layer(numbers(3, 4, 4))
        output.square().mean().backward()
        results.append([output.sum(), layer.weight_ih_l0.grad.abs().sum()])
    return results


@feature
def recurrent_cells():
    torch.manual_seed(2)
    lstm, gru = nn.LSTMCell(4, 5).to(DEVICE), nn.GRUCell(4, 5).to(DEVICE)
    hidden, cell = lstm(numbers(3, 4))
    state = gru(numbers(3, 4), hidden)
    (state.sum() + cell.sum()).backward()
    return [state, lstm.weight_ih.grad.sum(), gru.weight_hh.grad.sum()]


@feature
def packed_sequences():
    torch.manual_seed(2)
    layer = nn.GRU(3, 4).to(DEVICE)
    packed = nn.utils.rnn.pack_padded_sequence(numbers(5, 3, 3), torch.tensor([5, 3, 2]))
    output, state = layer(packed)
    padded, lengths = nn.utils.rnn.pad_packed_sequence(output)
    (padded.sum() + state.sum()).backward()
    return [padded.sum(), lengths, layer.weight_hh_l0.grad.abs().sum()]


@feature
def transformer_encoder_with_mask():
    torch.manual_seed(4)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    model = nn.TransformerEncoder(layer, 2).to(DEVICE)
    mask = nn.Transformer.generate_square_subsequent_mask(5, device=DEVICE)
    output = model(numbers(2, 5, 8), mask=mask, is_causal=True)
    output.square().mean().backward()
    model.eval()
    with torch.no_grad():
        return [output.abs().sum(), model(numbers(2, 5, 8)).abs().sum()]


@feature
def full_transformer():
    torch.manual_seed(4)
    model = nn.Transformer(8, 2, 1, 1, 16, dropout=0.0, batch_first=True).to(DEVICE)
    output = model(numbers(2, 4, 8), numbers(2, 3, 8))
    output.sum().backward()
    return output.abs().sum()


@feature
def attention_and_its_weights():
    torch.manual_seed(4)
    layer = nn.MultiheadAttention(8, 2, batch_first=True).to(DEVICE)
    value = numbers(2, 4, 8)
    padding = torch.tensor([[False] * 4, [False, False, True, True]], device=DEVICE)
    output, weights = layer(value, value, value, key_padding_mask=padding)
    return [output, weights]


@feature
def scaled_dot_product_attention():
    query, key, value = (
        numbers(1, 2, 5, 4),
        numbers(1, 2, 5, 5)[..., :4],
        numbers(1, 2, 5, 6)[..., :4],
    )
    query.requires_grad_()
    allowed = torch.ones(5, 5, dtype=torch.bool, device=DEVICE).tril()
    outputs = [
        F.scaled_dot_product_attention(query, key, value),
        F.scaled_dot_product_attention(query, key, value, is_causal=True),
        F.scaled_dot_product_attention(query, key, value, attn_mask=allowed),
        F.scaled_dot_product_attention(query, key, value, scale=0.3),
    ]
    sum(output.sum() for output in outputs).backward()
    half = F.scaled_dot_product_attention(query.half(), key.half(), value.half())
    return [*outputs, query.grad, str(half.dtype)]


@feature
def attention_with_a_chosen_backend():
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with sdpa_kernel(SDPBackend.MATH):
        return F.scaled_dot_product_attention(
            numbers(1, 1, 3, 4), numbers(1, 1, 3, 4), numbers(1, 1, 3, 4)
        )


@feature
def embeddings():
    torch.manual_seed(5)
    plain_table, bag = (
        nn.Embedding(10, 4, padding_idx=0).to(DEVICE),
        nn.EmbeddingBag(10, 4).to(DEVICE),
    )
    ids = torch.tensor([[1, 2], [0, 5]]).to(DEVICE)
    output = plain_table(ids).sum() + bag(ids).square().sum()
    output.backward()
    return [output, plain_table.weight.grad.sum(1), bag.weight.grad.sum(1)]


@feature
def activations():
    functions = [
        F.relu, F.gelu, F.silu, F.mish, F.elu, F.selu, F.celu, F.leaky_relu, F.hardswish,
        F.hardtanh, F.hardsigmoid, F.softplus, F.softsign, F.softshrink, F.tanhshrink, F.relu6,
        F.logsigmoid, torch.tanh, torch.sigmoid, lambda t: F.glu(t, 1),
        lambda t: F.gelu(t, approximate="tanh"), lambda t: F.rms_norm(t, (4,)),
        lambda t: F.prelu(t, torch.tensor([0.2], device=DEVICE)), F.normalize,
    ]  # fmt: skip
    return [forward_backward(function, numbers(3, 4)) for function in functions]


@feature
def losses():
    scores, targets = numbers(4, 5), numbers(4, 6)[:, :5].sigmoid()
    labels = torch.tensor([0, 1, 2, 3], device=DEVICE)
    signs = (targets > 0.5).float() * 2 - 1
    return [
        F.cross_entropy(scores, labels, label_smoothing=0.1),
        F.cross_entropy(scores, labels, ignore_index=2, weight=torch.ones(5, device=DEVICE)),
        F.nll_loss(scores.log_softmax(1), labels), F.mse_loss(scores, targets),
        F.l1_loss(scores, targets), F.smooth_l1_loss(scores, targets),
        F.huber_loss(scores, targets), F.binary_cross_entropy(scores.sigmoid(), targets),
        F.binary_cross_entropy_with_logits(scores, targets),
        F.kl_div(scores.log_softmax(1), targets, reduction="batchmean"),
        F.cosine_embedding_loss(scores, targets, torch.ones(4, device=DEVICE)),
        F.hinge_embedding_loss(scores, signs), F.soft_margin_loss(scores, signs),
        F.triplet_margin_loss(scores, targets, scores + 1), F.poisson_nll_loss(scores, targets),
    ]  # fmt: skip


@feature
def ctc_loss():
    scores = numbers(6, 2, 5).log_softmax(2)
    labels = torch.tensor([[1, 2], [3, 4]], device=DEVICE)
    return F.ctc_loss(scores, labels, torch.tensor([6, 6]), torch.tensor([2, 2]))


@feature
def pooling_and_normalisation():
    modules = [
        nn.MaxPool2d(2), nn.AvgPool2d(2), nn.AdaptiveMaxPool2d(2), nn.AdaptiveAvgPool2d(2),
        nn.LPPool2d(2, 2), nn.InstanceNorm2d(4), nn.BatchNorm2d(4), nn.LocalResponseNorm(2),
        nn.PixelShuffle(2), nn.Upsample(scale_factor=2), nn.ReflectionPad2d(1),
        nn.ReplicationPad2d(1), nn.ZeroPad2d(1), nn.Unfold(2),
    ]  # fmt: skip
    return [forward_backward(module.to(DEVICE), numbers(2, 4, 8, 8)) for module in modules]


@feature
def unpooling():
    values, places = F.max_pool2d(numbers(1, 1, 4, 4), 2, return_indices=True)
    return [values, places, F.max_unpool2d(values, places, 2)]


@feature
def interpolation_and_sampling():
    image = numbers(1, 1, 4, 4)
    grid = numbers(1, 2, 2, 2).tanh()
    return [
        F.interpolate(image, scale_factor=2, mode="bilinear"),
        F.interpolate(image, size=(3, 3), mode="bicubic"),
        F.grid_sample(image, grid, align_corners=False),
    ]


@feature
def channels_last_memory():
    module = constant(nn.Conv2d(3, 4, 3)).to(memory_format=torch.channels_last)
    value = numbers(2, 3, 6, 6).to(memory_format=torch.channels_last)
    return [value.is_contiguous(memory_format=torch.channels_last), module(value).sum()]


@feature
def parametrizations():
    torch.manual_seed(6)
    weight = nn.utils.parametrizations.weight_norm(nn.Linear(3, 3)).to(DEVICE)
    spectral = nn.utils.parametrizations.spectral_norm(nn.Linear(3, 3)).to(DEVICE)
    (weight(numbers(2, 3)).sum() + spectral(numbers(2, 3)).sum()).backward()
    return weight.parametrizations.weight.original0.grad


@feature
def bilinear_and_distances():
    torch.manual_seed(6)
    layer = nn.Bilinear(2, 3, 4).to(DEVICE)
    return [
        layer(numbers(1, 2), numbers(1, 3)),
        F.cosine_similarity(numbers(2, 3), numbers(2, 4)[:, :3]),
        F.pairwise_distance(numbers(2, 3), numbers(2, 4)[:, :3]),
        torch.cdist(numbers(2, 3), numbers(4, 3)),
    ]


@feature
def dropout_keeps_the_expected_share():
    kept = F.dropout(torch.ones(1000, device=DEVICE), 0.5).count_nonzero().item()
    return [400 < kept < 600, F.dropout(numbers(2, 2), 0.0)]
