"""What complete rows of history are worth."""
