"""Runs every feature on the device that this machine seems to have."""

import feature_table
import features_autograd
import features_data
import features_layers
import features_names
import features_tensors
import features_training

__all__ = [
    "features_autograd",
    "features_data",
    "features_layers",
    "features_names",
    "features_tensors",
    "features_training",
]

if __name__ == "__main__":
    feature_table.run_all()
