"""Entry point of `python -m regard`, the same as `regard`; torchrun starts it this way."""

from regard.cli.main import main

if __name__ == "__main__":
    main()
