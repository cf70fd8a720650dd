"""Documents that several people edit."""
