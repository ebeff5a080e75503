"""What the methods of tensors, arrays and texts tell of the number in a batch, and what torch takes
no float64 for.

Source: the references of torch 2.13, NumPy 2.x and Python 3.13. What raises was tried with torch
2.13 on the CPU: a target of float64 raises in `cross_entropy`, `nll_loss`, `multi_margin_loss`,
`multilabel_margin_loss` and `binary_cross_entropy`, and behind `huber_loss` in `backward`; those
named `mse_loss`, `l1_loss`, `smooth_l1_loss`, `binary_cross_entropy_with_logits` and `kl_div` take
it.
"""

from __future__ import annotations

from mpslint.basics.words import words

TARGETS = words(
    """
    cross_entropy nll_loss multi_margin_loss multilabel_margin_loss binary_cross_entropy huber_loss
    CrossEntropyLoss NLLLoss MultiMarginLoss MultiLabelMarginLoss BCELoss HuberLoss
    """
)
"""Losses of torch, as functions and as modules, whose target is no float64."""
INDICES = {"gather": 1, "scatter": 1, "scatter_": 1, "scatter_add_": 1, "index_select": 1}
"""Methods of which the argument at a place is an index."""
INDEXING = words("one_hot Embedding embedding bincount")
"""Functions of torch that take whole numbers alone."""
MASKING = words("masked_fill masked_fill_ masked_select")
"""Methods whose first argument is a mask."""
SHAPING = words(
    """
    view reshape squeeze unsqueeze flatten permute transpose t contiguous expand repeat clone detach
    requires_grad_ view_as expand_as squeeze_ unsqueeze_ data pin_memory
    """
)
"""Methods of a tensor that keep its dtype."""
CASTING = words("float long int half bfloat16 bool byte short char type astype type_as")
"""Methods that give another dtype, which is not float64 but where they are told so."""
TENSORS_ALONE = words(
    """
    unsqueeze permute contiguous clone detach expand unsqueeze_ squeeze_ requires_grad_
    """
)
"""Methods that no array of NumPy's and no number has."""
MODULES_ALONE = words("parameters zero_grad state_dict load_state_dict train eval")
"""Methods of a network, by which it is known."""
ARRAY_SHAPING = words(
    """
    reshape squeeze flatten transpose ravel copy view swapaxes repeat clip sum max min cumsum prod
    round permute take T real values data cpu numpy to_numpy contiguous detach clone expand
    unsqueeze
    """
)
"""Methods and attributes that keep the dtype of an array or a tensor."""
COUNTING = words("index find rfind count argmax argmin argsort nonzero size dim numel")
"""Methods that number or count items."""
SPELLING = words(
    """
    strip lstrip rstrip lower upper replace join decode format title zfill startswith endswith
    as_posix
    """
)
"""Methods of texts that give a text or a truth."""
COUNTING_BUILTINS = words("int len ord hash id bool str repr isinstance any all callable")
"""What of Python's gives no fraction."""
PICTURES = words("cv2.imread cv2.cvtColor cv2.resize cv2.imdecode imageio.imread")
"""What gives an array of bytes, where nothing says that it was made of another one."""
RESHAPING = words(
    """
    cv2.cvtColor cv2.resize cv2.flip cv2.rotate cv2.GaussianBlur cv2.warpAffine cv2.warpPerspective
    cv2.copyMakeBorder cv2.remap cv2.medianBlur
    """
)
"""What gives an array of the dtype of the one that it is given."""
LABELS = words("samples targets imgs labels classes class_to_idx")
"""What the classes of torchvision's data sets have: paths and whole numbers."""
TORCH = words("torch torchvision torchaudio kornia")
"""Packages whose functions give tensors that are not float64 unless they are told so."""
