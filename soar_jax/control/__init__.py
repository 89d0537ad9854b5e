"""What people do with a fitted model: decide by cost, audit, edit by hand, choose among pairs."""
