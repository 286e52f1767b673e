# detentctl/
