"""What a role can see of a server, what it can not, and the grant that would change it."""
