"""Parts of methods: what several of them share, and what is better kept in a file of its own."""
