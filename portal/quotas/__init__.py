"""How many GPUs of a type each team may hold."""
