"""What an import leads to: modules, run in all worlds as an import would run them."""
