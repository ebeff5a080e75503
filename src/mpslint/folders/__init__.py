"""Which files a command is about, what git says of them, and the folder that is mpslint's own."""
