"""Automatic differentiation and transformations of functions."""

import threading

import torch
from feature_table import DEVICE, feature, numbers
from torch import nn


@feature
def second_derivatives():
    value = numbers(3).requires_grad_()
    (first,) = torch.autograd.grad((value**3).sum(), value, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), value)
    return [first, second]


@feature
def own_function():
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, value):
            ctx.save_for_backward(value)
            return value * 2

        @staticmethod
        def backward(ctx, gradient):
            (value,) = ctx.saved_tensors
            return gradient * 2 + value * 0

    value = numbers(3).requires_grad_()
    Doubled.apply(value).sum().backward()
    return value.grad


@feature
def hooks():
    seen = []
    value = numbers(3).requires_grad_()
    value.register_hook(lambda gradient: seen.append(gradient.device.type == DEVICE))
    module = nn.Linear(3, 2).to(DEVICE)
    module.register_forward_hook(lambda *args: seen.append("forward"))
    module.register_full_backward_hook(lambda *args: seen.append("backward"))
    module(value * 2).sum().backward()
    return seen


@feature
def retained_graph():
    value = numbers(3).requires_grad_()
    total = (value * value).sum()
    total.backward(retain_graph=True)
    total.backward()
    return value.grad


@feature
def modes():
    value = numbers(2).requires_grad_()
    with torch.no_grad():
        without = (value * 2).requires_grad
    with torch.inference_mode():
        inference = (value * 2).is_inference()
    with torch.enable_grad():
        enabled = (value * 2).requires_grad
    return [without, inference, enabled, value.detach().requires_grad]


@feature
def in_place_error_is_noticed():
    value = torch.ones(3, device=DEVICE, requires_grad=True)
    result = value.exp()
    result.add_(1)
    try:
        result.sum().backward()
    except RuntimeError as error:
        return "modified by an inplace operation" in str(error)
    return False


@feature
def jacobian_and_hessian():
    from torch.autograd import functional

    return [
        functional.jacobian(lambda value: value**2, numbers(2)),
        functional.hessian(lambda value: (value**3).sum(), numbers(2)),
    ]


@feature
def per_sample_gradients():
    from torch.func import functional_call, grad, jacrev, vmap

    module = nn.Linear(3, 1).to(DEVICE)
    nn.init.constant_(module.weight, 0.5)
    nn.init.zeros_(module.bias)
    parameters = {name: value.detach() for name, value in module.named_parameters()}

    def loss(values, sample):
        return functional_call(module, values, (sample,)).sum()

    gradients = vmap(grad(loss), in_dims=(None, 0))(parameters, numbers(4, 3))
    return [gradients["weight"], jacrev(lambda t: t**2)(numbers(3)), vmap(torch.sum)(numbers(4, 3))]


@feature
def forward_mode():
    from torch.func import jvp

    return jvp(torch.sin, (numbers(3),), (torch.ones(3, device=DEVICE),))


@feature
def backward_in_threads():
    finished = []

    def work():
        module = nn.Linear(4, 2).to(DEVICE)
        module(numbers(3, 4)).sum().backward()
        finished.append(module.weight.grad.device.type == DEVICE)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return finished


@feature
def anomaly_mode():
    with torch.autograd.detect_anomaly(check_nan=True):
        value = numbers(3).requires_grad_()
        (value * 2).sum().backward()
    return value.grad


@feature
def traced_and_scripted():
    torch.manual_seed(1)
    module = nn.Sequential(nn.Linear(4, 3), nn.ReLU()).to(DEVICE).eval()
    sample = numbers(2, 4)
    return [torch.jit.trace(module, sample)(sample), torch.jit.script(module)(sample)]


@feature
def symbolic_trace():
    graph = torch.fx.symbolic_trace(nn.Sequential(nn.Linear(4, 3), nn.ReLU()))
    return [node.op for node in graph.graph.nodes]


@feature
def subclasses_and_modes():
    from torch.overrides import TorchFunctionMode

    class Mine(torch.Tensor):
        pass

    calls = []

    class Watching(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            calls.append(function)
            return function(*args, **(kwargs or {}))

    tensor = torch.zeros(2, device=DEVICE).as_subclass(Mine)
    with Watching():
        numbers(2) + 1
    return [type(tensor + 1).__name__, (tensor + 1).device.type == DEVICE, len(calls) > 0]


@feature
def profiler_and_flop_counter():
    from torch.profiler import ProfilerActivity, profile
    from torch.utils.flop_counter import FlopCounterMode

    with profile(activities=[ProfilerActivity.CPU]) as recorded:
        numbers(3, 3) @ numbers(3, 3)
    with FlopCounterMode(display=False) as flops:
        numbers(4, 8) @ numbers(8, 2)
    return [any("mm" in event.key for event in recorded.key_averages()), flops.get_total_flops()]


@feature
def gradient_of_another_device_is_refused():
    if DEVICE == "cpu":
        return True
    parameter = nn.Parameter(torch.zeros(2, device=DEVICE))
    try:
        parameter.grad = torch.zeros(2)
    except RuntimeError as error:
        return "device type" in str(error)
    return False
