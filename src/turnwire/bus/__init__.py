"""How those who follow a conversation hear of what happens in it."""
