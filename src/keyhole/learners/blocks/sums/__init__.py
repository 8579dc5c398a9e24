"""Sums over what was read: moments, products, memories, running centres; estimates from them."""
