# selir/
