"""What all ends agree on: how they come to trust each other, how requests are signed and answers
read, what peers sign for each other, and the guard around every service. Everything in the service
may import it; it imports nothing of the service.
"""
