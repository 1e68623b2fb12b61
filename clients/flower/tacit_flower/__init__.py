"""A campaign over Flower: both ends are in `tacit.service.flower`."""
