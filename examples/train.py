"""Train a small classifier on two spirals: written for CUDA, as most training scripts are."""

import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

EPOCHS = 5


def spirals(count):
    """Points on two interleaved spirals, with noise; the label is the spiral."""
    angle = torch.rand(count, 1).sqrt() * 3 * torch.pi
    label = torch.randint(0, 2, (count,))
    turn = angle + label.unsqueeze(1) * torch.pi
    points = torch.cat([angle * turn.cos(), angle * turn.sin()], dim=1) / 10
    return points + 0.02 * torch.randn(count, 2), label


def evaluate(model, loader):
    model.eval()
    right = torch.zeros(1, device="cuda")
    with torch.no_grad():
        for points, labels in loader:
            predicted = model(points.cuda()).argmax(dim=1)
            right += (predicted == labels.cuda()).sum()
    return right.item() / len(loader.dataset)


def main():
    torch.manual_seed(0)
    torch.cuda.manual_seed_all(0)
    train = DataLoader(TensorDataset(*spirals(2000)), 100, shuffle=True, pin_memory=True)
    test = DataLoader(TensorDataset(*spirals(500)), 250)

    model = nn.Sequential(
        nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2)
    ).cuda()
    criterion = nn.CrossEntropyLoss().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    for epoch in range(EPOCHS):
        model.train()
        torch.cuda.synchronize()
        start = time.perf_counter()
        for points, labels in train:
            points = points.cuda(non_blocking=True)
            labels = labels.cuda(non_blocking=True)
            optimizer.zero_grad()
            loss = criterion(model(points), labels)
            loss.backward()
            optimizer.step()
        torch.cuda.synchronize()
        seconds = time.perf_counter() - start
        accuracy = evaluate(model, test)
        print(f"epoch {epoch}  accuracy {accuracy:.3f}  {seconds:.2f} s")


if __name__ == "__main__":
    main()
