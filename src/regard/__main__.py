"""`python -m regard` is `regard`; torchrun starts it this way."""

from regard.cli.main import main

if __name__ == "__main__":
    main()
