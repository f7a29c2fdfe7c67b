"""MoveIt's interface to the planner: the services, actions and topics of the node `move_group`."""
