"""Small tools that know nothing of torch, nor of what a finding is."""
