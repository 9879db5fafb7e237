"""``mlpstorage training``: what is known of a training run before it starts."""
