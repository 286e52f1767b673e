# detentd/
