"""Names of torch's functions and methods by what they return, and names people give to things."""

from __future__ import annotations

from mpslint.basics.words import words
from mpslint.semantics.terms.value import FLAG, NDARRAY, NUMBER, STRING, Kind, Value

FACTORIES = words(
    """
    tensor zeros ones empty full rand randn randint randperm arange linspace logspace eye range
    as_tensor empty_strided complex polar hann_window hamming_window bartlett_window
    blackman_window kaiser_window tril_indices triu_indices normal scalar_tensor
    sparse_coo_tensor
    """
)
LIKE_FACTORIES = words(
    """
    zeros_like ones_like empty_like full_like rand_like randn_like randint_like
    """
)
NEW_FACTORIES = words(
    """
    new_zeros new_ones new_empty new_full new_tensor
    """
)
NOT_TENSOR_FUNCTIONS = words(
    """
    is_tensor is_floating_point is_complex numel save load manual_seed seed get_default_dtype
    set_default_dtype set_default_device set_grad_enabled is_grad_enabled no_grad enable_grad
    inference_mode device dtype Generator compile set_num_threads get_num_threads finfo iinfo
    set_float32_matmul_precision use_deterministic_algorithms autocast Size is_storage typename
    set_printoptions allclose equal is_nonzero result_type can_cast is_autocast_enabled
    get_rng_state set_rng_state initial_seed set_default_tensor_type
    """
)
NUMBER_METHODS = words(
    """
    item numel dim ndimension nelement element_size storage_offset get_device data_ptr stride
    size is_contiguous is_floating_point is_complex type
    """
)
TENSOR_METHODS = words(
    """
    backward detach requires_grad_ unsqueeze squeeze contiguous permute view_as expand_as
    masked_fill masked_fill_ scatter_ gather argmax softmax log_softmax clamp clamp_ mean sum
    std var abs sqrt exp log pow matmul mm bmm transpose reshape view flatten clone half float
    double long int bool bfloat16 max min norm topk sort expand repeat chunk split eq ne gt lt
    ge le add sub mul div add_ sub_ mul_ div_ zero_ fill_ copy_ normal_ uniform_ index_select
    masked_select nonzero sigmoid tanh relu cumsum t unbind roll flip any all type_as new_zeros
    new_ones item numpy tolist cpu cuda to detach_ data grad round_ round argmin argsort prod
    dot outer tril triu diag isnan isfinite
    """
)
TENSOR_ONLY = words(
    """
    backward detach requires_grad_ unsqueeze view_as expand_as masked_fill masked_fill_ scatter_
    log_softmax new_zeros new_ones type_as index_select masked_select isnan isinf isfinite
    """
)
REDUCTIONS = words(
    """
    sum mean std var max min argmax argmin eq ne gt lt ge le any all norm prod abs
    """
)
"""Methods that no module has, and nothing else that is moved to a device."""
LAYOUT_METHODS = words(
    """
    squeeze contiguous permute transpose reshape view flatten clone long bool expand
    """
)
"""The same, for those that change how numbers lie or are kept."""
MODULE_METHODS = words(
    """
    train eval to cuda cpu half float double bfloat16 requires_grad_ apply
    """
)
PARAMETERLESS_MODULES = words(
    """
    ReLU ReLU6 LeakyReLU ELU GELU SELU SiLU Mish Sigmoid LogSigmoid Tanh Hardtanh Hardswish
    Hardsigmoid Softmax LogSoftmax Softmax2d Softmin Softplus Softsign Threshold GLU Identity
    Flatten Unflatten Dropout Dropout1d Dropout2d Dropout3d AlphaDropout MaxPool1d MaxPool2d
    MaxPool3d AvgPool1d AvgPool2d AvgPool3d AdaptiveAvgPool1d AdaptiveAvgPool2d
    AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d ZeroPad2d ReflectionPad2d
    ReplicationPad2d Upsample PixelShuffle PixelUnshuffle Unfold Fold CosineSimilarity
    PairwiseDistance
    """
)
MODEL_OUTPUTS = words(
    """
    logits loss last_hidden_state pooler_output hidden_states sample pred_original_sample
    prev_sample encoder_last_hidden_state image_embeds text_embeds logits_per_image
    logits_per_text
    """
)
"""Attributes of what a model returns that are tensors (or tuples of them)."""
BY_ANNOTATION = {
    "Tensor": Value(Kind.TENSOR),
    "FloatTensor": Value(Kind.TENSOR),
    "LongTensor": Value(Kind.TENSOR),
    "device": Value(Kind.DEVICE),
    "Module": Value(Kind.MODULE),
    "PreTrainedModel": Value(Kind.MODULE),
    "DataLoader": Value(Kind.STREAMED),
    "Optimizer": Value(Kind.OPTIMIZER),
    "ndarray": NDARRAY,
    "int": NUMBER,
    "float": NUMBER,
    "bool": FLAG,
    "str": STRING,
}
